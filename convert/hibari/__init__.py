"""Conversion of hibari's voices: small English voices distilled from Kokoro."""
