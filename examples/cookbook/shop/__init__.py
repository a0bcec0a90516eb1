# SPDX-License-Identifier: MIT
"""A small package whose import is slow. imports.py uses one function of it."""
from shop.articles import describe
from shop.mail import send_receipt

__all__ = ["describe", "send_receipt"]
