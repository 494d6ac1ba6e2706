"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# a busy machine draws examples slowly; that says nothing about what is tested
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
