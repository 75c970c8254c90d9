//! The spawn way: one Node start a run. Always available; the reference.

use std::sync::Arc;

use async_trait::async_trait;
use codemode_jail::wire::Order;
use tokio::sync::Semaphore;

use super::confirm::{Reports, Trouble};
use super::parent::ParentThread;
use super::plan::Purpose;
use super::start::{AtGate, Starter, host, stream};
use super::{Child, Confined, Isolation, LaunchConfig, LaunchError, LaunchOrder, Launcher, LauncherKind, Node};

/// Starts at once, times the processors: a Node start keeps one busy, and more of them only make each other late.
const STARTS_PER_PROCESSOR: usize = 2;

/// Starts one Node a run.
#[derive(Debug)]
pub struct Spawn {
    starter: Starter,
    starts: Semaphore,
}

impl Spawn {
    /// Finds Node and makes everything the children share.
    pub fn new(config: LaunchConfig) -> Result<Spawn, LaunchError> {
        let node = Starter::find_node(&config)?;
        let parent = ParentThread::start().map_err(|source| host("the thread that starts children", source))?;
        Spawn::with(config, node, Arc::new(parent))
    }

    pub(super) fn with(config: LaunchConfig, node: Node, parent: Arc<ParentThread>) -> Result<Spawn, LaunchError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let starter = Starter::new(config, node, Purpose::Run, Default::default(), parent)?;
        Ok(Spawn { starter, starts: Semaphore::new(STARTS_PER_PROCESSOR * processors) })
    }

    /// The Node in use.
    pub fn node(&self) -> &Node {
        &self.starter.node
    }
}

#[async_trait]
impl Launcher for Spawn {
    async fn launch(&self, order: LaunchOrder) -> Result<Confined, LaunchError> {
        let _turn = self.starts.acquire().await.map_err(|_| LaunchError::Internal("the launcher is closed".to_owned()))?;
        let starter = &self.starter;
        #[cfg(any(test, feature = "danger"))]
        if let Some((program, arguments)) = &starter.config.danger.stand_in {
            return super::stand_in::start(program, arguments, &starter.parent).await;
        }
        let AtGate { mut child, bridge, mut reports, nonce, data_bytes } = starter.start(Purpose::Run).await?;
        let limit = data_bytes.saturating_add(order.memory_bytes);
        let order = Order { nonce, data_soft: limit, data_hard: limit, cpu_seconds: order.cpu_seconds, dry_runs: 0 };
        if let Err(trouble) = arm(&mut child, &mut reports, &order).await {
            return Err(starter.explain(&reports, trouble, child).await);
        }
        let walls = starter.confirm(&reports, child.pid())?;
        let isolation = Isolation { launcher: LauncherKind::Spawn, node: starter.node.version.clone(), jit: starter.config.jit, walls };
        Ok(Confined { bridge: stream(bridge)?, child, isolation })
    }
}

async fn arm(child: &mut Child, reports: &mut Reports, order: &Order) -> Result<(), Trouble> {
    child.order(&order.encode(), &[]).map_err(|source| Trouble::Host(host("the arm order", source)))?;
    reports.until_armed(child).await
}
