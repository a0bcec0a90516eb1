# SPDX-License-Identifier: MIT
"""Receipts by mail."""
import email.message
import smtplib


def send_receipt(host, address, text):
    message = email.message.EmailMessage()
    message["To"], message["Subject"] = address, "Your receipt"
    message.set_content(text)
    with smtplib.SMTP(host) as server:
        server.send_message(message)
