//! The provider of a model, over HTTP.

use std::time::Duration;

use serde_json::Value;

/// Bytes of an answer at most.
const MOST_BYTES: u64 = 8 << 20;

/// Where completions come from.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    url: String,
    agent: ureq::Agent,
}

impl Provider {
    /// The one at this address.
    pub(crate) fn new(url: String) -> Provider {
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(60))).build();
        Provider { url, agent: config.into() }
    }

    /// The model's next message.
    pub(crate) async fn complete(&self, payload: &Value) -> Result<Value, String> {
        let (agent, url, body) = (self.agent.clone(), format!("{}/v1/chat/completions", self.url), payload.to_string());
        let asked = tokio::task::spawn_blocking(move || {
            let mut response = agent.post(&url).header("content-type", "application/json").send(body.as_bytes())?;
            response.body_mut().with_config().limit(MOST_BYTES).read_to_vec()
        });
        let bytes = asked.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok(answer["choices"][0]["message"].take())
    }
}
