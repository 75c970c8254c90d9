//! One connection: what its client asks for, and what it gets.
#![expect(deprecated, reason = "the protocol's newest revision gives up log messages; clients of the others have nothing else")]

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, Implementation, ListToolsResult, LoggingLevel,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::answer::{self, Asked};
use super::line::Line;
use super::news::{News, Wanted};
use super::question;
use super::server::Shared;
use super::shown;
use super::stdio::MOST_REQUESTS;
use crate::catalog::{CallCode, quoted};
use crate::modes::{Control, Executor, Outcome, Plan, Target};

/// Requests that the protocol has and this server understands. One of these that cannot be read has wrong parameters; anything else is unknown.
const KNOWN: [&str; 5] = ["initialize", "ping", "tools/list", "tools/call", "logging/setLevel"];

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Session {
    shared: Arc<Shared>,
    name: String,
    executor: Mutex<Arc<Executor>>,
    /// The least severe line of a console that the client wants.
    level: Mutex<LoggingLevel>,
    /// Calls in flight.
    calls: Semaphore,
    /// Tells the client when its list of tools is another one.
    telling: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(telling) = self.telling.get_mut().unwrap_or_else(PoisonError::into_inner) {
            telling.abort();
        }
    }
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>) -> Session {
        let name = shared.connection_name();
        let executor = Mutex::new(Arc::new(shared.executor(shared.plan(), &name)));
        Session {
            shared,
            name,
            executor,
            level: Mutex::new(LoggingLevel::Info),
            calls: Semaphore::new(MOST_REQUESTS),
            telling: Mutex::default(),
        }
    }

    /// Whoever does things, for what is shown now.
    fn executor(&self) -> Arc<Executor> {
        let plan = self.shared.plan();
        let mut executor = self.executor.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(executor.plan(), &plan) {
            *executor = Arc::new(self.shared.executor(plan, &self.name));
        }
        Arc::clone(&executor)
    }

    /// What the client wants to hear of a request. From 2026 on a request says itself which lines it wants; before, its connection does.
    fn wanted(&self, context: &RequestContext<RoleServer>) -> Wanted {
        let level = match context.meta.protocol_version() {
            Some(_) => context.meta.log_level(),
            None => Some(*self.level.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        Wanted { progress: context.meta.get_progress_token(), level }
    }

    async fn answered(&self, name: &str, args: &Value, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Ok(_call) = self.calls.try_acquire() else {
            return Err(ErrorData::internal_error(format!("{MOST_REQUESTS} calls are open already; wait for an answer"), None));
        };
        let executor = self.executor();
        let plan = executor.plan();
        let control = shown::control(plan, name);
        // Nobody reads what a cancelled request is answered.
        let cancelled = || ErrorData::internal_error("the request was cancelled", None);
        let _turn = match control {
            Some(Control::Code) => tokio::select! {
                turn = self.shared.bodies.acquire() => Some(turn.map_err(|_| cancelled())?),
                () = given_up(context) => return Err(cancelled()),
            },
            _ => None,
        };
        let mut news = News::new(context.peer.clone(), self.wanted(context));
        let (approver, questions) = question::of(context);
        let doing = executor.execute_until(name, args, Some(Arc::new(approver)), |event| news.hear(event), given_up(context));
        let outcome = tokio::select! {
            outcome = doing => outcome,
            never = questions.put(&context.peer) => match never {},
        };
        news.end(given_up(context)).await;
        match &outcome {
            Outcome::Failed(failure) if failure.code == CallCode::UnknownTool && plan.surface.target(name).is_none() => {
                Err(ErrorData::invalid_params(format!("Unknown tool: {}", quoted(name)), None))
            }
            outcome => Ok(answer::result(outcome, asked(plan, name, args)).into()),
        }
    }

    fn shown(&self) -> Arc<Plan> {
        self.shared.plan()
    }
}

/// What is asked for by this name.
fn asked(plan: &Plan, name: &str, args: &Value) -> Asked {
    let of = |id: &str| Asked::Tool(plan.catalog.resolve(id).ok().map(|tool| tool.source));
    match plan.surface.target(name) {
        Some(Target::Control(Control::Call)) => of(args["id"].as_str().unwrap_or_default()),
        Some(Target::Control(control)) => Asked::Own(*control),
        Some(Target::Tool(tool)) => Asked::Tool(Some(tool.source)),
        None => Asked::Tool(plan.surface.hydrate(name).ok().map(|(tool, _)| tool.source)),
    }
}

/// Waits until nobody waits for the answer any more: it was cancelled, or whoever asked is gone.
fn given_up(context: &RequestContext<RoleServer>) -> impl Future<Output = ()> + Send + use<> {
    let (cancelled, line) = (context.ct.clone(), context.extensions.get::<Line>().cloned());
    async move {
        match line {
            Some(line) => tokio::select! {
                () = cancelled.cancelled() => {}
                () = line.ended() => {}
            },
            None => cancelled.cancelled().await,
        }
    }
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_logging().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("codemode", env!("CARGO_PKG_VERSION")).with_title("codemode"))
            .with_instructions(shown::instructions(&self.shown()))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut listed = self.shared.listed.subscribe();
        let telling =
            tokio::spawn(async move { while listed.changed().await.is_ok() && context.peer.notify_tool_list_changed().await.is_ok() {} });
        // A client that says so twice is still told once.
        if let Some(before) = self.telling.lock().unwrap_or_else(PoisonError::into_inner).replace(telling) {
            before.abort();
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // There is one page, so no cursor was ever given out.
        if request.and_then(|request| request.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            return Err(ErrorData::invalid_params("this cursor is none of this server's: all tools stand on one page", None));
        }
        Ok(ListToolsResult::with_all_items(shown::tools(&self.shown())))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        shown::tools(&self.shown()).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        self.answered(&request.name, &args, &context).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        let method = quoted(&request.method);
        if KNOWN.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the parameters of {method} are not what the protocol wants"), None));
        }
        Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method} here"), None))
    }
}
