"""Names and dates of certificates, read as Java and OpenSSL read them."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.certificates import CertificateError, read_certificate
from tests.broker.server.pems import CA, CLIENT, ODD, SERVER, WIDER

DER = ssl.PEM_cert_to_DER_cert(CLIENT)


def test_a_subject_is_written_most_particular_part_first() -> None:
    assert read_certificate(DER).subject == "CN=Dave,OU=dev,O=lab"
    assert read_certificate(ssl.PEM_cert_to_DER_cert(SERVER)).subject == "CN=localhost,O=lab"
    assert read_certificate(ssl.PEM_cert_to_DER_cert(CA)).subject == "CN=ca"


def test_signs_with_a_meaning_are_escaped_and_unknown_attributes_are_numbers() -> None:
    subject = read_certificate(ssl.PEM_cert_to_DER_cert(ODD)).subject
    assert subject == (r"CN=\ Jürgen\ ,DC=x+UID=u1,1.2.840.113549.1.9.1=#1603614062,O=a\,b\+c \"x\",C=DE")


def test_the_end_of_the_validity_is_read_in_both_forms() -> None:
    assert read_certificate(DER).until_s == ssl.cert_time_to_seconds("Oct 30 00:53:43 2126 GMT")
    odd = read_certificate(ssl.PEM_cert_to_DER_cert(ODD))
    assert odd.until_s == ssl.cert_time_to_seconds("Aug 19 00:53:43 2029 GMT")


def test_alternative_names_are_told_with_their_kinds() -> None:
    assert read_certificate(ssl.PEM_cert_to_DER_cert(CA)).alternative_names == frozenset()
    assert read_certificate(ssl.PEM_cert_to_DER_cert(WIDER)).alternative_names == {
        "DNS:localhost",
        "DNS:kafka.example",
        "IP:127.0.0.1",
        "IP:::1",
        "URI:spiffe://lab/kawal",
        "email:ops@lab.example",
    }


@given(st.integers(0, len(DER) - 1))
def test_a_certificate_that_is_cut_short_is_refused(length: int) -> None:
    with pytest.raises(CertificateError):
        read_certificate(DER[:length])


@given(st.integers(0, len(DER) - 1), st.integers(0, 255))
def test_wrong_bytes_are_read_or_refused(position: int, byte: int) -> None:
    wrong = bytearray(DER)
    wrong[position] = byte
    try:
        read_certificate(bytes(wrong))
    except CertificateError as error:
        assert "not a certificate" in str(error)  # noqa: PT017
