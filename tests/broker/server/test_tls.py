"""The TLS of listeners from files and text: what is refused, and when it is read again."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.server.tls import FILE_BYTES_MAX, TlsError, client_context, make_tls, settings_of
from tests.broker.server.pems import CA, CLIENT, CLIENT_KEY, ENCRYPTED_KEY, SERVER, SERVER_KEY

UNTIL_S = ssl.cert_time_to_seconds("Oct 30 00:53:43 2126 GMT")


def config(**settings: Any) -> Config:
    values = {f"ssl.{name.replace('_', '.')}": value for name, value in settings.items()}
    return config_of({"listeners": "SSL://127.0.0.1:0"} | values)


def made(**settings: Any) -> Any:
    return make_tls(settings_of(config(**settings))["SSL"])


def test_a_file_has_key_and_certificate(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text(f"# Jürgen's\n{SERVER_KEY}{SERVER}")
    tls = made(keystore_location=str(path))
    assert (tls.subject, tls.until_s) == ("CN=localhost,O=lab", UNTIL_S)
    assert tls.context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert tls.context.verify_mode is ssl.CERT_NONE
    assert tls.context.num_tickets == 0


def test_text_has_them_too_and_lines_may_end_as_in_properties() -> None:
    chain = SERVER.replace("\n", "\\n")
    tls = made(
        keystore_key=SERVER_KEY,
        keystore_certificate_chain=chain,
        truststore_certificates=CA,
        client_auth="required",
        enabled_protocols="TLSv1.3",
    )
    assert tls.context.verify_mode is ssl.CERT_REQUIRED
    assert tls.context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize("between", [" ", "  \n\t", "\\n"])
def test_lines_of_text_may_end_in_any_white_space(between: str) -> None:
    key, chain = (between.join(pem.split("\n")) for pem in (SERVER_KEY, SERVER))
    assert made(keystore_key=key, keystore_certificate_chain=chain).subject == "CN=localhost,O=lab"


def test_an_encrypted_key_needs_its_password() -> None:
    texts = {"keystore_key": ENCRYPTED_KEY, "keystore_certificate_chain": SERVER}
    assert made(**texts, key_password="secret").subject == "CN=localhost,O=lab"
    with pytest.raises(TlsError, match=r"ssl\.key\.password is not set"):
        made(**texts)
    with pytest.raises(TlsError, match=r"a wrong ssl\.key\.password, in ssl\.keystore\.key") as wrong:
        made(**texts, key_password="canary")
    assert "canary" not in str(wrong.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xfe\xed\xfe\xed\0\0", "JKS file.*openssl pkcs12"),
        (b"\x30\x82\x01", "PKCS12"),
        (b"", "no private key"),
        (SERVER_KEY.encode(), "no certificate"),
        ((CLIENT_KEY + SERVER).encode(), "key values mismatch"),
        (
            (SERVER_KEY + SERVER[:200] + "\n-----END CERTIFICATE-----\n").encode(),
            "listener SSL cannot be served",
        ),
    ],
)
def test_a_file_that_cannot_be_served_is_told_with_its_name(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "store"
    path.write_bytes(data)
    with pytest.raises(TlsError, match=message) as refused:
        made(keystore_location=str(path))
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(TlsError, match=r"/no/such.pem \(ssl.keystore.location\) cannot be read: no such"):
        made(keystore_location="/no/such.pem")


def test_wrong_authorities_and_ciphers_are_told() -> None:
    texts = {"keystore_key": SERVER_KEY, "keystore_certificate_chain": SERVER}
    with pytest.raises(TlsError, match=r"ssl\.truststore\.certificates"):
        made(**texts, truststore_certificates="nothing")
    with pytest.raises(TlsError, match=r"none of ssl\.cipher\.suites=X"):
        made(**texts, cipher_suites="X")


def test_texts_that_nobody_needs_are_refused_and_cost_time_by_their_length_alone() -> None:
    texts = {"keystore_key": SERVER_KEY, "keystore_certificate_chain": SERVER}
    begun = "-----BEGIN A-----" * (FILE_BYTES_MAX // 20)
    with pytest.raises(TlsError, match="no certificate"):
        made(**texts | {"keystore_certificate_chain": begun})
    with pytest.raises(TlsError, match="too long for PEM"):
        made(**texts | {"keystore_certificate_chain": begun * 2})


# --- PEM of any kind ---------------------------------------------------------------------------------------

_SPLICES = st.sampled_from(
    [
        "",
        "\n",
        "\\n",
        "\0",
        "é",
        "\ud800",
        "-----BEGIN CERTIFICATE-----",
        "-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n",
        "AAAA",
        CLIENT,
        CLIENT_KEY,
        ENCRYPTED_KEY,
        CA,
    ]
)


@st.composite
def damaged(draw: st.DrawFn, whole: str) -> str:
    """Draw PEM with some parts cut out, and others put in."""
    text = whole
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 200)) | st.just(len(text)))
        text = text[:start] + draw(_SPLICES | st.text(max_size=5)) + text[end:]
    return text


def served_or_told(**settings: Any) -> None:
    """Make a listener's TLS; else there is one sentence, without anything of the key."""
    try:
        tls = made(**settings)
    except (TlsError, ConfigError) as error:
        told = str(error)
        assert told
        assert "\n" not in told
        assert SERVER_KEY.splitlines()[1][:20] not in told
    else:
        assert tls.subject is not None


@given(damaged(SERVER_KEY), damaged(SERVER), damaged(CA))
def test_texts_of_any_kind_are_served_or_told(key: str, chain: str, authorities: str) -> None:
    served_or_told(keystore_key=key, keystore_certificate_chain=chain)
    served_or_told(
        keystore_key=SERVER_KEY,
        keystore_certificate_chain=SERVER,
        truststore_certificates=authorities,
        client_auth="required",
    )


@given(damaged(SERVER_KEY + SERVER).map(lambda text: text.encode(errors="replace")) | st.binary(max_size=200))
def test_files_of_any_kind_are_served_or_told(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("pem") / "server.pem"
    path.write_bytes(data)
    served_or_told(keystore_location=str(path))
    served_or_told(keystore_key=SERVER_KEY, keystore_certificate_chain=SERVER, truststore_location=str(path))


def test_a_node_checks_the_name_and_the_certificate_of_another_and_shows_its_own(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text(f"{SERVER_KEY}{SERVER}")
    wanted = {"keystore_location": str(path), "truststore_certificates": CA, "enabled_protocols": "TLSv1.3"}
    context = client_context(settings_of(config(**wanted))["SSL"])
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert [found["subject"] for found in context.get_ca_certs()] != []
    with pytest.raises(TlsError):
        client_context(settings_of(config(keystore_location=str(tmp_path / "none")))["SSL"])
