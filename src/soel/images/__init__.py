"""From files of images and video to a matrix of features."""
