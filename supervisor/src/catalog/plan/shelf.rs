//! The sources of a gateway, each with the list that it gave last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::super::{Source, Tool, ToolSet, ToolSource};
use super::reading::whole;

/// How long a run waits for the lists of its sources. A list that comes later is there for the next run.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a source may take for its whole list.
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// After a failure a source is left alone for so long, unless it says that something has changed.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Ids of tools that are no longer there are remembered, so that a call of one can be told why; so many of each source.
const MAX_GONE: usize = 1_000;
/// Sets that are kept because the next run probably wants one of them: an index costs more than a run.
const MAX_SETS: usize = 8;

/// The sources of a gateway. Made once, and used by every run.
#[derive(Debug)]
pub struct Sources {
    shelved: RwLock<Vec<Arc<Shelved>>>,
    sets: Mutex<VecDeque<Arc<ToolSet>>>,
    patience: Duration,
}

impl Default for Sources {
    fn default() -> Self {
        Sources { shelved: RwLock::default(), sets: Mutex::default(), patience: PATIENCE }
    }
}

/// A source and its list.
#[derive(Debug)]
pub(super) struct Shelved {
    pub(super) source: Arc<dyn ToolSource>,
    /// It is one run's own, and on no shelf.
    pub(super) is_own: bool,
    state: Mutex<State>,
    /// One asks at a time.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    list: List,
    /// What `changed` said when the list was asked for; `None`: nothing was asked for yet.
    asked_at: Option<u64>,
    failed_at: Option<Instant>,
    /// Since when it is being asked.
    asking_since: Option<Instant>,
}

/// What is known of a source's tools.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    /// `None`: it has never given any.
    pub(super) tools: Option<Arc<Vec<Arc<Tool>>>>,
    by_id: Arc<HashMap<String, usize>>,
    /// Why the list is not, or not any more, what the source has.
    pub(super) problem: Option<String>,
    /// Tools that were left out, in words.
    pub(super) complaints: Arc<Vec<String>>,
    gone: VecDeque<String>,
}

impl Sources {
    /// No sources.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// The same with another time that a run waits for lists; otherwise 1 s.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Sources {
        self.patience = patience;
        self
    }

    /// Puts a source on the shelf. Its list is asked for when the first run wants it.
    pub fn add(&self, source: Arc<dyn ToolSource>) {
        self.write().push(Arc::new(Shelved::new(source, false)));
    }

    /// For each source that is here now, what says when its list is worth asking for again.
    pub fn changes(&self) -> Vec<watch::Receiver<u64>> {
        self.read().iter().map(|shelved| shelved.source.changed()).collect()
    }

    /// Takes the source of this kind and name away: its tools are in no new view, and calls of them are `tool_unavailable`.
    pub fn remove(&self, source: Source, name: &str) {
        self.write().retain(|shelved| shelved.source.source() != source || shelved.source.name() != name);
    }

    /// The sources of these kinds with their lists, in the order of kind and name: none waits for another.
    pub(super) async fn listed(&self, kinds: &[Source]) -> Vec<(Arc<Shelved>, List)> {
        let mut wanted: Vec<Arc<Shelved>> =
            self.read().iter().filter(|shelved| kinds.contains(&shelved.source.source())).cloned().collect();
        wanted.sort_by(|a, b| a.place().cmp(&b.place()));
        self.lists(wanted).await
    }

    /// Sources with their lists, asked side by side.
    pub(super) async fn lists(&self, wanted: Vec<Arc<Shelved>>) -> Vec<(Arc<Shelved>, List)> {
        // What a source has to be asked for is asked by a task of its own, so that they go side by side and a slow one goes on without us.
        let asked: Vec<_> = wanted.iter().map(|shelved| (shelved, shelved.ask())).collect();
        for (shelved, task) in asked {
            let Some(task) = task else { continue };
            // A source that has had that time already, from runs before this one, is not waited for again.
            let since = shelved.state().asking_since.unwrap_or_else(Instant::now);
            // A task that broke down, or takes too long, leaves the list as it was.
            if tokio::time::timeout_at(since + self.patience, task).await.is_ok() {
                shelved.state().asking_since = None;
            }
        }
        wanted
            .into_iter()
            .map(|shelved| {
                let list = shelved.list(self.patience);
                (shelved, list)
            })
            .collect()
    }

    pub(super) fn holds(&self, shelved: &Arc<Shelved>) -> bool {
        self.read().iter().any(|held| Arc::ptr_eq(held, shelved))
    }

    /// A set of these tools: the one of an earlier run, if there is one.
    pub(super) fn set_of(&self, tools: Vec<Arc<Tool>>) -> Arc<ToolSet> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |set: &Arc<ToolSet>| {
            set.tools().len() == tools.len() && set.tools().iter().zip(&tools).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(index) = sets.iter().position(is_same)
            && let Some(set) = sets.remove(index)
        {
            sets.push_front(Arc::clone(&set));
            return set;
        }
        let set = match ToolSet::new(tools) {
            Ok(set) => Arc::new(set),
            // A listing has each id once.
            Err(double) => unreachable!("{double}"),
        };
        sets.push_front(Arc::clone(&set));
        sets.truncate(MAX_SETS);
        set
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<Shelved>>> {
        self.shelved.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<Shelved>>> {
        self.shelved.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelved {
    pub(super) fn new(source: Arc<dyn ToolSource>, is_own: bool) -> Shelved {
        Shelved { source, is_own, state: Mutex::default(), asking: tokio::sync::Mutex::new(()) }
    }

    pub(super) fn place(&self) -> (Source, &str) {
        (self.source.source(), self.source.name())
    }

    /// What is known after so much patience.
    pub(super) fn list(&self, patience: Duration) -> List {
        let state = self.state();
        let mut list = state.list.clone();
        if list.tools.is_none() && list.problem.is_none() {
            list.problem = Some(format!("it has given no list within {} ms", patience.as_millis()));
        }
        list
    }

    /// Asks the source for its list on a task, if there is a reason to; the task stores it.
    pub(super) fn ask(self: &Arc<Self>) -> Option<tokio::task::JoinHandle<()>> {
        self.is_due().then(|| {
            self.state().asking_since.get_or_insert_with(Instant::now);
            let shelved = Arc::clone(self);
            tokio::spawn(async move { shelved.refresh().await })
        })
    }

    /// Whether a tool is in the list as it is now.
    pub(super) async fn offers(self: &Arc<Self>, id: &str) -> bool {
        if let Some(task) = self.ask() {
            let _ = timeout(PATIENCE, task).await;
        }
        self.state().list.by_id.contains_key(id)
    }

    /// Whether a tool was in an earlier list and is not in the last.
    pub(super) fn had(&self, id: &str) -> bool {
        self.state().list.gone.iter().any(|gone| gone == id)
    }

    fn is_due(&self) -> bool {
        let now = *self.source.changed().borrow();
        let state = self.state();
        state.asked_at != Some(now) || state.failed_at.is_some_and(|at| at.elapsed() >= RETRY_AFTER)
    }

    async fn refresh(&self) {
        let _turn = self.asking.lock().await;
        if !self.is_due() {
            self.state().asking_since = None;
            return;
        }
        // Read before the list is asked for: what changes meanwhile is asked for again.
        let asked_at = *self.source.changed().borrow();
        let answer = match timeout(LIST_LIMIT, whole(&*self.source)).await {
            Ok(answer) => answer.map_err(|failure| failure.reason),
            Err(_) => Err(format!("it has given no list within {} s", LIST_LIMIT.as_secs())),
        };
        let mut state = self.state();
        state.asked_at = Some(asked_at);
        state.asking_since = None;
        match answer {
            Ok(whole) => {
                state.failed_at = None;
                state.list.take(whole.tools);
                state.list.complaints = Arc::new(whole.complaints);
                state.list.problem = None;
            }
            Err(reason) => {
                state.failed_at = Some(Instant::now());
                state.list.problem = Some(reason);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of others runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    /// Takes a new list. A tool that is what it was stays the same one, so that what was made for it (index, validator) stays good.
    fn take(&mut self, tools: Vec<Arc<Tool>>) {
        let before = self.tools.take().unwrap_or_default();
        let same = |tool: &Arc<Tool>| {
            let old = self.by_id.get(&tool.id).and_then(|index| before.get(*index))?;
            old.is_same_as(tool).then(|| Arc::clone(old))
        };
        let tools: Vec<Arc<Tool>> = tools.into_iter().map(|tool| same(&tool).unwrap_or(tool)).collect();
        let by_id: HashMap<String, usize> = tools.iter().enumerate().map(|(index, tool)| (tool.id.clone(), index)).collect();
        self.gone.extend(before.iter().filter(|tool| !by_id.contains_key(&tool.id)).map(|tool| tool.id.clone()));
        self.gone.retain(|id| !by_id.contains_key(id));
        while self.gone.len() > MAX_GONE {
            self.gone.pop_front();
        }
        self.by_id = Arc::new(by_id);
        self.tools = Some(Arc::new(tools));
    }
}
