//! How to reach a fleet, as every command says it that has to do with one.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueHint};

use super::{exit, run};
use crate::catalog::visible;
use crate::fleet::{ClientCertificate, FleetError, FleetExecutor, FleetSettings};
use crate::run::Runner;

/// No body would be run.
const NO_RUN: u8 = 4;

/// Which fleet, and who this end is in it.
#[derive(Args, Debug)]
pub(super) struct NatsArguments {
    /// The subject of offers, the same for workers and gateways [default: codemode.runs]
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,

    /// The name of this end, if permissions need one [default: random]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Credentials for NATS, as nsc makes them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    creds: Option<PathBuf>,

    /// The authorities that may have signed the certificate of NATS (PEM); without TLS there is no connection then
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tls_ca: Option<PathBuf>,

    /// A certificate to show to NATS (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Whether bodies run on a fleet, and on which.
#[derive(Args, Debug)]
pub(super) struct FleetArguments {
    /// Run bodies on the workers of a fleet, e.g. nats://127.0.0.1:4222, and not on this machine
    #[arg(long, value_name = "URL")]
    fleet: Option<String>,

    #[command(flatten)]
    nats: NatsArguments,
}

impl NatsArguments {
    pub(super) fn settings(&self, url: &str) -> FleetSettings {
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone());
        FleetSettings {
            subject: self.subject.clone().unwrap_or_else(|| FleetSettings::SUBJECT.to_owned()),
            name: self.name.clone(),
            credentials: self.creds.clone(),
            tls_authorities: self.tls_ca.clone(),
            tls_certificate: certificate.map(|(certificate, key)| ClientCertificate { certificate, key }),
            ..FleetSettings::new(url)
        }
    }

    fn is_said(&self) -> bool {
        [self.creds.is_some(), self.tls_ca.is_some(), self.tls_cert.is_some(), self.subject.is_some(), self.name.is_some()].contains(&true)
    }
}

impl FleetArguments {
    /// Words that mean nothing.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let lost = self.fleet.is_none() && self.nats.is_said();
        lost.then_some("how to reach a fleet is said, and not which\nadd `--fleet URL`")
    }

    /// Whoever runs bodies there, if a fleet is meant.
    pub(super) async fn runner(&self) -> Option<Result<Arc<dyn Runner>, FleetError>> {
        let settings = self.nats.settings(self.fleet.as_deref()?);
        Some(FleetExecutor::connect(&settings).await.map(|fleet| Arc::new(fleet) as Arc<dyn Runner>))
    }
}

/// Ends because there is no fleet.
pub(super) fn unreachable(error: &FleetError) -> ExitCode {
    let code = match error {
        FleetError::Subject(_) | FleetError::Name(_) | FleetError::Credentials { .. } => exit::USAGE,
        FleetError::Connect { .. } | FleetError::SmallPayload { .. } | FleetError::NotPermitted { .. } | FleetError::Closed => NO_RUN,
        FleetError::Random => exit::INTERNAL,
    };
    run::refused(code, &visible::visible(&error.to_string()))
}
