"""The decoder: any coordinates -> (offset, modes)."""

from smore.decoder.basis import Basis
from smore.decoder.network import Decoder, FilterNetwork

__all__ = ["Basis", "Decoder", "FilterNetwork"]
