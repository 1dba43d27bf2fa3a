"""Small defects in pictures: whole pictures against patches against both, on real and on generated sets."""
