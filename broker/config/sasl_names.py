"""The SASL mechanisms that this server has, by their registered names."""

from __future__ import annotations

from typing import Final

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = (PLAIN, *SCRAM, OAUTHBEARER)
"""All of them.  GSSAPI needs Kerberos and is not among them."""
