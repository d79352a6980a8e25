"""CosyVoice-300M (SFT, base, Instruct): official checkpoint -> OpenVINO voice bundle."""
