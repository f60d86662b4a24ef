"""The page that sets all tables beside the paper."""

from smore_paper.page.whole import page_text, write_page

__all__ = ["page_text", "write_page"]
