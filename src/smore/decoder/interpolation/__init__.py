"""From values at the points of a mesh to values anywhere: local, and bounded."""

from smore.decoder.interpolation.choosing import interpolation_of
from smore.decoder.interpolation.curved_simplices import CurvedSimplices
from smore.decoder.interpolation.interpolation import Interpolation
from smore.decoder.interpolation.simplices import Simplices
from smore.decoder.interpolation.tensor_splines import TensorSplines

__all__ = ["CurvedSimplices", "Interpolation", "Simplices", "TensorSplines", "interpolation_of"]
