"""Errors that a user can act on: a message names the place, the value, the mend."""


class ParallaxError(Exception):
    """Base of every error that parallax raises on purpose; its message is one line."""


class ParamsError(ParallaxError):
    """A value in params.yaml (or an override of it) is not usable."""


class DataError(ParallaxError):
    """A data file or one of its rows is not usable."""


class ModelError(ParallaxError):
    """A model folder, checkpoint or architecture is not usable."""


class ResourceError(ParallaxError):
    """A machine has too little of something."""
