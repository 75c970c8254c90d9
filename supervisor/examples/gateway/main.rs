//! A small gateway: plug-ins on one side, an OpenAI-compatible provider on the other, codemode in between.
//!
//! `cargo run --example gateway -- CONFIG.json5 PLUGIN-FOLDER http://127.0.0.1:8080 'What is the weather in Oslo?'`

mod gateway;
mod provider;

use std::sync::Arc;

use codemode::config::Config;
use codemode::telemetry::SessionLog;
use gateway::Gateway;
use provider::Provider;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(config), Some(plugin), Some(url), Some(prompt)) = (arguments.next(), arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: gateway CONFIG.json5 PLUGIN-FOLDER PROVIDER-URL PROMPT".into());
    };
    let config = Config::open(config)?;
    config.clamps.iter().for_each(|clamp| eprintln!("note: {clamp}"));
    let gateway = Gateway::new(config, Provider::new(url)).with_log(Arc::new(SessionLog::open("session.jsonl")?));
    gateway.add_plugin(plugin.as_ref())?;
    println!("{}", gateway.turn("main", &prompt).await?);
    Ok(())
}
