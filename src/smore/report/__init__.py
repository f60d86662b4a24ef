"""One HTML file about a model: what it is, how well it forecasts, what it cannot do.

>>> from smore.report import report_page                                     # doctest: +SKIP
>>> html = report_page(SMORE.load("flow.smore"), Trajectories.open("test.nc"))   # doctest: +SKIP
"""

from smore.report.reporting import report_page

__all__ = ["report_page"]
