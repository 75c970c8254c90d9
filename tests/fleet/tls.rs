//! TLS, with the server's certificate and with one of the client's.

use std::path::PathBuf;

use codemode::fleet::{ClientCertificate, FleetError, FleetExecutor, FleetSettings};
use codemode_tests::host;

use super::nats::Nats;
use super::workers::Worker;
use super::{alone, first_run, settings};

fn file(name: &str) -> PathBuf {
    host::repository().join("tests/fleet/tls").join(name)
}

#[test]
fn a_fleet_over_tls_trusts_who_it_was_told_to_and_shows_who_it_is() {
    alone(async {
        let (authority, certificate, key) = (file("authority.pem"), file("server.pem"), file("server.key"));
        let [ca, cert, private] = [&authority, &certificate, &key].map(|path| path.display().to_string());
        let nats = Nats::with(&format!("tls {{ cert_file: {cert:?}, key_file: {private:?}, ca_file: {ca:?}, verify: true }}"));
        let url = nats.url().replace("nats://", "tls://");
        let own = ClientCertificate { certificate, key };
        let trusting = FleetSettings { tls_authorities: Some(authority), tls_certificate: Some(own.clone()), ..settings(&url, "g") };
        let worker = Worker::start(&url, "w", &["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &private]);
        let gateway = FleetExecutor::connect(&trusting).await.expect("it may");
        let report = first_run(&gateway, "tls").await;
        assert!(report.ok, "{report:?}");
        let (ran, _) = worker.ended();
        assert_eq!(ran.code, Some(0), "{ran:?}");

        let mistaken = FleetSettings { tls_authorities: Some(file("other.pem")), ..trusting.clone() };
        let nobody = FleetSettings { tls_certificate: None, ..trusting.clone() };
        // The certificate is for an address, and this is another name of it.
        let renamed = FleetSettings { url: url.replace("127.0.0.1", "localhost"), ..trusting };
        for refused in [mistaken, nobody, renamed] {
            let error = FleetExecutor::connect(&refused).await.expect_err("it is refused");
            assert!(matches!(error, FleetError::Connect { .. }), "{refused:?}: {error}");
        }
    });
}
