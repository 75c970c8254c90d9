//! The examination as a whole.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use codemode_protocol::{Limit, RunLimits};
use serde::Serialize;

use super::advice::{self, Advice};
use super::finding::{ActRow, Verdict, WallFinding};
use super::host::{Cgroup, Host, Landlock, Resources, UserNamespaces};
use super::native;
use super::realms::Realms;
use super::support::Support;
use crate::bridge::rehearsal;
use crate::launch::{LaunchConfig, LaunchError, LaunchOrder, Node, Wall, WallPolicy, WallReport, probe, self_test};

/// Everything the doctor found.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The Node that was examined.
    pub node: NodeFacts,
    /// The host.
    pub host: Host,
    /// Every wall, in the order of reports.
    pub walls: Vec<WallFinding>,
    /// What could bound a run's resources as a whole; optional.
    pub resources: Resources,
    /// Whether runs can be forked from a template.
    pub template: TemplateFacts,
    /// Whether a run would start.
    pub runs: Runs,
    /// What is missing, and what to do about it.
    pub advice: Vec<Advice>,
}

/// The Node that was examined.
#[derive(Clone, Debug, Serialize)]
pub struct NodeFacts {
    /// The program.
    pub path: PathBuf,
    /// As it prints it.
    pub version: String,
    /// How long its line is supported.
    pub support: Support,
}

/// Whether runs can be forked from a template.
#[derive(Clone, Debug, Serialize)]
pub struct TemplateFacts {
    /// The self-test: two forks answer, differently, and end by themselves.
    pub passes: bool,
    /// Why not; runs are then started one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a run would start, by what is to happen when a wall is missing.
#[derive(Clone, Debug, Serialize)]
pub struct Runs {
    /// `--walls default`.
    pub default: Start,
    /// `--walls strict`.
    pub strict: Start,
}

/// Whether a run would start.
#[derive(Clone, Debug, Serialize)]
pub struct Start {
    /// It would.
    pub starts: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Examines this host and the Node of `config`; takes a second or two. It needs a tokio runtime with I/O and time, starts some dozens of short-lived processes of
/// that Node, makes and removes two files in the folder for temporary files, and for some milliseconds has one descriptor open that any process started meanwhile by this one
/// would inherit.
///
/// # Errors
///
/// When there is no usable Node, or the host does not let a process be started.
pub async fn examine(config: &LaunchConfig) -> Result<Examination, LaunchError> {
    let node = Node::find(config.node.as_deref())?;
    let mut config = config.clone();
    // Found once. And a run that refuses to start tells less than one that says which walls it has.
    config.node = Some(node.path.clone());
    config.policy = WallPolicy::Default;
    config.jit = false;
    let landlock = Landlock::look();
    let root = nix::unistd::geteuid().is_root();
    // One after the other: each of them keeps every processor busy, and has patience limits of its own.
    let (mut native, filters) = native::examine(&node, root, landlock.abi).await?;
    let realms = Realms::examine(&node, &config).await;
    let template = template(&config).await;
    let told = |wall: Wall| realms.isolation().and_then(|isolation| isolation.walls.iter().find(|report| report.name == wall));
    let walls: Vec<WallFinding> = Wall::ALL.iter().map(|wall| finding(*wall, &mut native, &realms, told(*wall))).collect();
    let host = Host::look(filters, user_namespaces(&walls));
    let support = Support::of(&node.version);
    let advice = advice::for_host(&host, &walls, &support);
    Ok(Examination {
        runs: runs(&realms),
        node: NodeFacts { path: node.path, version: node.version, support },
        host,
        walls,
        resources: Resources { cgroup: Cgroup::look() },
        template,
        advice,
    })
}

fn finding(wall: Wall, native: &mut HashMap<Wall, Vec<ActRow>>, realms: &Realms, told: Option<&WallReport>) -> WallFinding {
    let rows = native.remove(&wall).unwrap_or_else(|| realms.rows(wall));
    WallFinding::new(wall, rows, told)
}

/// The wall of that name needs one; nothing else tells as well.
fn user_namespaces(walls: &[WallFinding]) -> UserNamespaces {
    let wall = walls.iter().find(|wall| wall.name == Wall::Namespaces);
    match wall.map(|wall| (wall.status, wall.reason.clone())) {
        Some((Verdict::Unavailable, reason)) => UserNamespaces { allowed: false, reason },
        _ => UserNamespaces { allowed: true, reason: None },
    }
}

fn runs(realms: &Realms) -> Runs {
    let Some(isolation) = realms.isolation() else {
        let no = Start { starts: false, reason: realms.refused() };
        return Runs { default: no.clone(), strict: no };
    };
    let start = |policy| {
        let missing = probe::missing(&isolation.walls, policy);
        let reason = |report: &&WallReport| format!("{}: {}", report.name.name(), report.reason.as_deref().unwrap_or("missing"));
        let reasons: Vec<String> = missing.iter().map(reason).collect();
        Start { starts: reasons.is_empty(), reason: (!reasons.is_empty()).then(|| reasons.join("; ")) }
    };
    Runs { default: start(WallPolicy::Default), strict: start(WallPolicy::Strict) }
}

/// How long the self-test of a template may take here: twenty times what it takes.
const TEMPLATE_PATIENCE: Duration = Duration::from_secs(2);

async fn template(config: &LaunchConfig) -> TemplateFacts {
    let limits = RunLimits::default();
    // The limits of the trial are not the point of it: any that a run may have will do.
    let usual = LaunchOrder { memory_bytes: limits.memory_bytes(), cpu_seconds: limits.wall_ms().div_ceil(1000) };
    let rehearsal = rehearsal(&limits, usual, Limit::MemoryBytes.cap());
    let tested = match tokio::time::timeout(TEMPLATE_PATIENCE, self_test(config.clone(), &rehearsal)).await {
        Ok(tested) => tested,
        Err(_) => Err(format!("no answer to the self-test within {} s", TEMPLATE_PATIENCE.as_secs())),
    };
    TemplateFacts { passes: tested.is_ok(), reason: tested.err() }
}
