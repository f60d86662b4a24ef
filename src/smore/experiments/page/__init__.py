"""The page that sets all tables beside the paper."""

from smore.experiments.page.whole import page_text, write_page

__all__ = ["page_text", "write_page"]
