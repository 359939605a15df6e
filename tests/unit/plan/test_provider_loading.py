"""What a live or a replayed study names is looked at when it is planned: a gateway would refuse it in every pod."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runner.core.errors import StudyError
from runner.plan.load import load_study
from tests.fakes.surroundings import COMMAND_STUDY, Surroundings

STUDY = "/studies/demo/study.toml"
SCRIPTED = 'mode = "scripted", policy = "plain-agent"'
LIVE = 'mode = "live", base_url = "https://provider.example", ca_file = "ca.pem"'
REPLAY = 'mode = "replay", cassette = "cassette.jsonl"'


def certificate() -> str:
    """A certificate that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    begin = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(begin).not_valid_after(begin + dt.timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode("ascii")


def problems(outside: Surroundings, model: str) -> list[str]:
    path = outside.study(COMMAND_STUDY.replace(SCRIPTED, model))
    try:
        load_study(path, outside.files)
    except StudyError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_certificates_are_taken_with_what_people_write_between_them(outside: Surroundings) -> None:
    """As bundles come, in any alphabet."""
    outside.files.put(Path("/studies/demo/ca.pem"), f"# Behörde\n{certificate()}\n# und noch eine\n{certificate()}")
    assert problems(outside, LIVE) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"),
        ("not a certificate\n", "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)",
        ),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1 of 1 is damaged"),
    ],
)
def test_a_file_without_authorities_is_refused(outside: Surroundings, text: str, fault: str) -> None:
    """Empty, something else, or damaged."""
    outside.files.put(Path("/studies/demo/ca.pem"), text)
    assert problems(outside, LIVE) == [f"{STUDY}: model.ca_file: /studies/demo/ca.pem: {fault}"]


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://provider.example/v1", "must stand without /v1, with which every request's path begins"),
        ("http://8.8.8.8/", "must be https: over http the key would pass a public network in the clear"),
        ("https://provider.example:99999", "is no address: Port out of range 0-65535"),
    ],
)
def test_an_address_that_no_key_may_go_to_is_refused(outside: Surroundings, url: str, fault: str) -> None:
    """With the key of the study that names it."""
    assert problems(outside, f'mode = "record", base_url = "{url}"') == [f"{STUDY}: model.base_url: {fault}"]


def test_a_cassette_that_is_none_is_told_with_the_key_that_names_it(outside: Surroundings) -> None:
    """And with its own line, and what to do."""
    header = (
        '{"format":"pairbench/cassette","version":1,"run":"r","evidence":"measurement","model_shown":"m","masks":[],'
        '"exchanges":1,"incomplete":[]}'
    )
    outside.files.put(Path("/studies/demo/cassette.jsonl"), header + "\n{}\n")
    found = problems(outside, REPLAY)
    assert found[0] == (
        f"{STUDY}: model.cassette: /studies/demo/cassette.jsonl line 2: task: missing "
        "(take it as it was recorded, or record it again)"
    )
    assert {line.partition(": /")[0] for line in found} == {f"{STUDY}: model.cassette"}
