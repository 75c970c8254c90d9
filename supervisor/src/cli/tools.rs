//! `codemode tools`: a catalog by hand, with what a body gets to see and the checks that a body's call passes.

use std::process::ExitCode;
use std::sync::Arc;

use codemode_protocol::JsonText;
use serde_json::{Value, json};

use super::arguments::{ShownCatalog, ToolsAction, ToolsArguments};
use super::input::{self, Files, InputError, MOST_ARGUMENTS, Opened};
use super::paint::{Paint, columns};
use super::stop::Stop;
use super::{exit, run, show, table};
use crate::catalog::visible::visible;
use crate::catalog::{CallFailure, McpConnections, SearchQuery, Tool};
use crate::gate::Passage;

/// Does what is asked of a catalog.
pub(super) fn main(arguments: &ToolsArguments) -> ExitCode {
    let catalog = &shown(&arguments.action).catalog;
    let files = match input::files(catalog) {
        Ok(files) if files.is_empty() => return run::unusable(&InputError::NoCatalog),
        Ok(files) => files,
        Err(error) => return run::unusable(&error),
    };
    let servers = files.servers().clone();
    let done = if servers.servers().is_empty() {
        alone().block_on(act(&arguments.action, files))
    } else {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(with_servers(&servers, act(&arguments.action, files))),
            Err(_) => Err(InputError::NoDescriptors),
        }
    };
    done.unwrap_or_else(|error| run::unusable(&error))
}

fn shown(action: &ToolsAction) -> &ShownCatalog {
    match action {
        ToolsAction::List(shown)
        | ToolsAction::Search { shown, .. }
        | ToolsAction::Describe { shown, .. }
        | ToolsAction::Call { shown, .. } => shown,
    }
}

/// The catalogs of files need no I/O, only the clock, which asks for no descriptor. Hooks need both: where there is no descriptor left for a runtime, there
/// is none for a hook either, which then fails.
fn alone() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    match runtime.enable_all().build().or_else(|_| tokio::runtime::Builder::new_current_thread().enable_time().build()) {
        Ok(runtime) => runtime,
        // Without I/O there is nothing that the host could refuse.
        Err(error) => unreachable!("{error}"),
    }
}

/// Whatever comes, the servers are stopped in order.
async fn with_servers(servers: &McpConnections, act: impl Future<Output = Result<ExitCode, InputError>>) -> Result<ExitCode, InputError> {
    let mut stop = Stop::listen().map_err(|_| InputError::NoDescriptors)?;
    let done = tokio::select! {
        done = act => done,
        () = stop.asked() => Ok(ExitCode::from(exit::CANCELLED)),
    };
    servers.stop().await;
    servers.lines().iter().for_each(|line| show::note(line));
    done
}

async fn act(action: &ToolsAction, files: Files) -> Result<ExitCode, InputError> {
    // Arguments are read first: whoever types them has not asked for a server yet.
    let args = match action {
        ToolsAction::Call { args, .. } => Some(input::call_arguments(args.as_deref())?),
        _ => None,
    };
    let opened = files.opened().await;
    opened.notes.iter().for_each(|note| show::note(note));
    Ok(match action {
        ToolsAction::List(shown) => {
            list(&opened.tools, shown.json);
            ExitCode::SUCCESS
        }
        ToolsAction::Search { query, limit, shown } => {
            let found = opened.catalog.search(&SearchQuery { query: query.clone(), limit: *limit }).await;
            told(found, shown.json, |tools| list(&tools, shown.json))
        }
        ToolsAction::Describe { id, shown } => told(opened.catalog.describe(id).await, shown.json, |tool| describe(&tool, shown.json)),
        ToolsAction::Call { id, shown, .. } => {
            let called = call(&opened, id, &args.unwrap_or_else(JsonText::null)).await;
            told(called, shown.json, |(value, decoded)| {
                if shown.json {
                    show::json_line(&json!({"ok": true, "value": value, "decoded": decoded}).to_string());
                } else {
                    show::value(&value.to_string());
                }
            })
        }
    })
}

/// The way of a body's call, through the same gate.
async fn call(opened: &Opened, id: &str, args: &JsonText) -> Result<(Value, Vec<String>), CallFailure> {
    let passage = Passage::new(Arc::clone(&opened.gate), Arc::clone(&opened.catalog), "by-hand".into()).with_args_limit(MOST_ARGUMENTS);
    let admitted = passage.admit(1, id, args).await?;
    let decoded = admitted.decoded().to_vec();
    Ok((passage.call(admitted).await?, decoded))
}

fn told<T>(outcome: Result<T, CallFailure>, as_json: bool, show: impl FnOnce(T)) -> ExitCode {
    match outcome {
        Ok(value) => {
            show(value);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            if as_json {
                let error = json!({"code": failure.code, "name": failure.name, "message": failure.message, "toolId": failure.tool(), "data": failure.data});
                show::json_line(&json!({"ok": false, "error": error}).to_string());
            }
            show::failure(&failure);
            ExitCode::from(exit::FAILED)
        }
    }
}

fn list(tools: &[Arc<Tool>], as_json: bool) {
    if as_json {
        let rows: Vec<Value> = tools.iter().map(|tool| tool.row()).collect();
        return show::json_line(&Value::Array(rows).to_string());
    }
    let row = |tool: &Arc<Tool>| (tool.id.clone(), tool.row()["description"].as_str().unwrap_or_default().to_owned());
    let rows: Vec<(String, String)> = tools.iter().map(row).collect();
    if rows.is_empty() {
        show::note("no tool");
    } else {
        show::to_stdout(table::rows(&rows, columns(), Paint::stdout()).join("\n"));
    }
}

fn describe(tool: &Tool, as_json: bool) {
    let value = tool.description_value();
    if as_json {
        return show::json_line(&value.to_string());
    }
    let paint = Paint::stdout();
    let word = |key: &str| visible(value[key].as_str().unwrap_or_default());
    // What a schema says is a stranger's words, too.
    let schema =
        |key: &str| serde_json::to_string_pretty(&value[key]).map(|text| crate::catalog::visible::visible_json(&text)).unwrap_or_default();
    let mut parts = vec![format!("{}  {}", paint.name(&word("id")), paint.aside(&format!("({}, {})", word("source"), word("sourceName"))))];
    parts.push(word("description"));
    parts.push(format!("{} {}", paint.strong("signature"), word("signature")));
    parts.push(format!("{} {}", paint.strong("parameters"), schema("parameters")));
    if value.get("outputSchema").is_some() {
        parts.push(format!("{} {}", paint.strong("outputSchema"), schema("outputSchema")));
    }
    parts.retain(|part| !part.is_empty());
    show::to_stdout(parts.join("\n"));
}
