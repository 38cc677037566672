"""Files of security settings: JAAS, and that of Kafka's --zk-tls-config-file."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.zk.security import ClientSecurity, SecurityError, Tls
from kcsim.zk.security import client_security as module
from kcsim.zk.security.jaas import client_section, parse_jaas, server_section, users_of_server
from kcsim.zk.security.tls import tls_of_properties
from tests.zk.security.certificates import Stores, made_stores

VARIABLES = {"JAAS": "KCSIM_ZOOKEEPER_JAAS", "TLS": "KCSIM_ZOOKEEPER_TLS"}
A_JAAS_FILE = """
// The broker's own section is not for ZooKeeper.
KafkaServer {
    org.apache.kafka.common.security.scram.ScramLoginModule required
    username="admin" password="admin-secret";
};
/* more than
   one line */
Client {
    org.apache.zookeeper.server.auth.DigestLoginModule required # a comment
    username="kafka"
    password='a "quoted" one \\\\ and a }';
    com.sun.security.auth.module.Krb5LoginModule optional useTicketCache=true;
};
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return made_stores(tmp_path_factory.mktemp("stores"))


# --- JAAS ------------------------------------------------------------------------------------------------------------------


def test_sections_modules_and_options_are_read() -> None:
    sections = parse_jaas(A_JAAS_FILE)
    assert list(sections) == ["KafkaServer", "Client"]
    digest, kerberos = sections["Client"]
    assert digest.options == {"username": "kafka", "password": 'a "quoted" one \\ and a }'}
    assert (kerberos.name, kerberos.options) == ("com.sun.security.auth.module.Krb5LoginModule", {"useTicketCache": "true"})


@given(st.text(), st.text())
def test_what_is_written_is_read_back(name: str, password: str) -> None:
    (module,) = parse_jaas(client_section(name, password))["Client"]
    assert module.options == {"username": name, "password": password}


@given(st.dictionaries(st.from_regex(r"\w+", fullmatch=True), st.text(), min_size=1))
def test_users_that_are_written_are_read_back(users: dict[str, str]) -> None:
    assert users_of_server(server_section(users)) == users


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Client {", "line 1: the file ends within a section"),
        ("Client {\n  a.Module needed;\n};", "line 2: 'needed' is none of optional, required, requisite, sufficient"),
        ("Client {\n  a.Module required\n  username;\n};", "line 3: '=' expected, ';' found"),
        ("Client (\n", "line 1: '{' expected, '(' found"),
        ("Client {\n a.Module required; }\nServer {};", "line 3: ';' expected, 'Server' found"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(SecurityError) as refused:
        parse_jaas(text)
    assert str(refused.value) == problem


@given(st.text(alphabet="Client{};=\"'\\/*# \nx"))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SecurityError):
        assert all(isinstance(modules, list) for modules in parse_jaas(text).values())


def test_a_section_without_users_is_refused() -> None:
    with pytest.raises(SecurityError, match=r"no section Server with a .*DigestLoginModule that has users"):
        users_of_server(A_JAAS_FILE)


# --- the environment -------------------------------------------------------------------------------------------------------


def environment(directory: Path, **files: str) -> dict[str, str]:
    for name, text in files.items():
        (directory / name).write_text(text)
    return {VARIABLES[name]: str(directory / name) for name in files}


def test_without_variables_there_is_no_security() -> None:
    assert ClientSecurity.from_environment({"KCSIM_ZOOKEEPER_JAAS": ""}) == ClientSecurity()


def test_the_variables_name_files(tmp_path: Path, stores: Stores) -> None:
    properties = (
        "# of Kafka's tools\n"
        "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\n"
        "zookeeper.ssl.client.enable=true\n"
        f"zookeeper.ssl.truststore.location={stores.authority}\n"
        f"zookeeper.ssl.keystore.location = {stores.client}\n"
    )
    found = ClientSecurity.from_environment(environment(tmp_path, JAAS=A_JAAS_FILE, TLS=properties))
    assert found == ClientSecurity.digest(
        "kafka", 'a "quoted" one \\ and a }', Tls(stores.authority, stores.client, stores.client)
    )
    assert "quoted" not in repr(found)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"JAAS": "Server {};"}, "no section Client with a login module"),
        ({"JAAS": "Client { a.b.Krb5LoginModule required; };"}, r"a\.b\.Krb5LoginModule is not supported; .*Digest"),
        (
            {"JAAS": 'Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="u"; };'},
            "the section Client has no password",
        ),
        ({"TLS": "zookeeper.ssl.truststore.location=/x.pem"}, r"zookeeper\.ssl\.client\.enable is not true"),
        (
            {"TLS": "zookeeper.ssl.client.enable=true\nzookeeper.ssl.truststore.location=/etc/trust.jks"},
            r"trust\.jks is of type jks; only PEM can be read\. Convert it: keytool .*/trust\.p12.*; openssl pkcs12 .*\.pem",
        ),
        (
            {"TLS": "zookeeper.ssl.client.enable=true\nzookeeper.ssl.keystore.location=/etc/own.pem"},
            r"zookeeper\.ssl\.keystore\.location: there is no file /etc/own\.pem",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    (name,) = files
    with pytest.raises(SecurityError, match=rf"^{VARIABLES[name]}: {tmp_path}/{name}: .*{problem}"):
        ClientSecurity.from_environment(environment(tmp_path, **files))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(SecurityError, match=r"^KCSIM_ZOOKEEPER_TLS: /no/such: No such file or directory$"):
        ClientSecurity.from_environment({"KCSIM_ZOOKEEPER_TLS": "/no/such"})


def test_sasl_without_its_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(SecurityError, match=r"pip install 'kafka-controller-sim\[sasl\]'"):
        ClientSecurity.digest("u", "p")


@pytest.mark.parametrize(
    ("line", "checks"),
    [
        ("", True),
        ("zookeeper.ssl.hostnameVerification=false", False),
        ("zookeeper.ssl.endpoint.identification.algorithm=", False),
        ("zookeeper.ssl.endpoint.identification.algorithm=HTTPS", True),
    ],
)
def test_the_check_of_host_names_can_be_switched_off(line: str, checks: bool) -> None:
    tls = tls_of_properties(f"zookeeper.ssl.client.enable=true\n{line}\n")
    assert tls == Tls(checks_host_name=checks)
    assert tls.context().check_hostname is checks
