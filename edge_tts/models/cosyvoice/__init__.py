"""CosyVoice-300M: text tokens -> speech tokens -> mel spectrogram -> waveform, one module for each stage."""
