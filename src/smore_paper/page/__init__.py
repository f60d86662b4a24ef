"""The page that sets all tables beside the paper."""
