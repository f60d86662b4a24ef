"""Single records of many kinds, simulated here: what choices for strangers' records are judged on.

Strangers' own records are for the last look. These are transients and attractors, waves and
diffusion, seasons and noise, on lines and on grids; none was made with a result in view.
"""

from smore_paper.datasets.records.catalogue import RECORDS, make_record

__all__ = ["RECORDS", "make_record"]
