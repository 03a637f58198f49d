"""parallax: one fact seen through text and image, one request seen under two frames."""

__version__ = "0.1.0"
