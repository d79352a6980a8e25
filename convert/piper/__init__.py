"""Conversion of Piper's voices (VITS), as their owners have them: an ONNX file and its JSON configuration."""
