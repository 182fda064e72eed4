"""Empty figures, for other modules to draw into."""

import io

_DOTS_PER_INCH = 110  # The resolution in a notebook.


def new_figure(width: float, height: float):
    """A figure of that many inches, which belongs to the caller and which a notebook shows.

    Raises:
      ImportError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f"matplotlib: got {error} but expected the package, which pictures are drawn with. "
            "Run `pip install matplotlib`."
        ) from None

    class Picture(Figure):
        """A figure that a notebook shows although pyplot does not know it."""

        def _repr_png_(self):
            png = io.BytesIO()
            self.savefig(png, format="png", dpi=_DOTS_PER_INCH, facecolor="white")
            return png.getvalue()

    return Picture(figsize=(width, height), layout="constrained")
