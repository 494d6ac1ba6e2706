"""What a library learns from its own documents: query adapter and calibration."""
