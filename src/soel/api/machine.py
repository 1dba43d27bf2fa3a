"""What a profile becomes on this machine."""

from __future__ import annotations

from dataclasses import replace

from soel.profiles import WIDE, Profile


def for_machine(profile: Profile, n_features: int) -> Profile:
    """The profile for rows of this width here, with its strategy by name.

    The default network for feature vectors wants a GPU: without one, profile `default` takes its narrow form. A
    backbone that was chosen by name, and the profiles that repeat what others did, stay as they are.
    """
    name, options = profile.strategy_for(n_features)
    profile = replace(profile, strategy=name, strategy_options=options)
    if n_features <= WIDE or profile.backbone != "auto" or profile.name != "default":
        return profile
    import torch  # only here: a session on a table is created without it

    return profile.with_parts(backbone="ntl-features") if torch.cuda.is_available() else profile.without_gpu()
