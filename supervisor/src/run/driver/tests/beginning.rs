//! When another run may begin.

use super::*;

/// A run whose tool takes a tenth of a second, and whose child is seen to sleep or not: whether others could begin before its tool had answered.
async fn lets_others_begin(sleeps: bool) -> bool {
    let tools = json!([{"name": "slow", "description": "", "parameters": {"type": "object"}, "reply": {"value": 1, "delayMs": 100}}]);
    let catalog = Arc::new(FileCatalog::from_str(&tools.to_string(), "demo").unwrap());
    let begins = tokio::spawn(std::future::pending::<()>());
    let activity = Some(Activity { cpu: Duration::ZERO, sleeps });
    let stage = Stage { catalog, activity, beginning: Some(Beginning::of(&begins)), ..Stage::new() };
    let is_over = begins.abort_handle();
    let (tell, told) = tokio::sync::oneshot::channel();
    let report = stage
        .play(async move |mut kid| {
            kid.hello().await;
            kid.call(1, "slow", json!({})).await;
            kid.hear().await;
            tell.send(is_over.is_finished()).unwrap();
            kid.answer(json!({})).await;
            GONE
        })
        .await;
    assert!(report.ok, "{report:?}");
    begins.abort();
    told.await.unwrap()
}

#[tokio::test]
async fn who_waits_for_a_tool_and_sleeps_lets_others_begin() {
    assert!(lets_others_begin(true).await);
    assert!(!lets_others_begin(false).await, "one that computes beside its call is no better than others that compute");
}
