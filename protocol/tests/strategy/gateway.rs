//! How they are made.

use codemode_protocol::gateway::{
    ApprovalRule, Ask, CallNotice, CalledTool, Capabilities, Capability, CatalogChoice, Context, FromGateway, GatewayAsk, GoodbyeCode,
    Hello, Notice, Refusal, RefusalCode, RequestMethod, RequestState, RunName, RunStart, ToGateway, ToolSource, ToolText, Wants,
};
use codemode_protocol::{CallCode, JsonText, Level, Limit, RequestId, WireError};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Words of one line without blanks at the ends, some of them no ASCII.
const WORD: &str = "[a-zö✓\"\\\\:./]{1,12}";

fn json() -> impl Strategy<Value = JsonText> {
    let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), any::<String>().prop_map(Value::from)];
    let any = leaf.prop_recursive(3, 12, 4, |inner| vec(inner, 0..4).prop_map(Value::from));
    any.prop_map(|value| JsonText::of(&value).expect("JSON"))
}

fn object() -> impl Strategy<Value = JsonText> {
    json().prop_map(|value| JsonText::of(&json!({ "any": value.to_value().expect("JSON") })).expect("JSON"))
}

fn id() -> impl Strategy<Value = RequestId> {
    prop_oneof![1..9_u64, 1..1_u64 << 53].prop_map(|id| RequestId::new(id).expect("inside"))
}

fn run() -> impl Strategy<Value = RunName> {
    WORD.prop_map(|name| RunName::new(name).expect("a name"))
}

fn hello() -> impl Strategy<Value = Hello> {
    (1..3_u64, WORD, vec(select(&Capability::ALL[..]), 0..5)).prop_map(|(protocol, name, words)| Hello {
        protocol,
        name,
        capabilities: Capabilities::new(words),
    })
}

fn tool() -> impl Strategy<Value = ToolText> {
    let names = (option::of(WORD), select(&ToolSource::ALL[..]), WORD, WORD);
    (names, any::<String>(), object(), option::of(object())).prop_map(
        |((id, source, source_name, name), description, parameters, output_schema)| ToolText {
            id,
            source,
            source_name,
            name,
            description,
            parameters,
            output_schema,
        },
    )
}

fn start() -> impl Strategy<Value = RunStart> {
    let catalog = prop_oneof![Just(CatalogChoice::Gateway), vec(tool(), 0..4).prop_map(CatalogChoice::Tools)];
    let limits = btree_map(select(&Limit::ALL[..]), 0..1_u64 << 53, 0..4);
    let context = (option::of(WORD), option::of(WORD)).prop_map(|(agent, session)| Context { agent, session, ..Context::default() });
    let approvals = btree_map(any::<String>(), select(&ApprovalRule::ALL[..]), 0..4);
    let wants = any::<[bool; 4]>().prop_map(|[approvals, hooks, logs, calls]| Wants { approvals, hooks, logs, calls });
    ((run(), any::<String>()), (limits, context, catalog), (approvals, wants)).prop_map(
        |((run, body), (limits, context, catalog), (approvals, wants))| RunStart { run, body, limits, context, catalog, approvals, wants },
    )
}

fn failure() -> impl Strategy<Value = WireError> {
    (select(&CallCode::ALL[..]), any::<String>(), option::of(any::<String>()), object())
        .prop_map(|(code, message, tool_id, data)| WireError { tool_id, ..WireError::new(code, message).with_data(data) })
}

/// Any message of a gateway.
pub fn from_gateway() -> impl Strategy<Value = FromGateway> {
    let ask = prop_oneof![
        hello().prop_map(GatewayAsk::Hello),
        start().prop_map(|start| GatewayAsk::Start(Box::new(start))),
        run().prop_map(|run| GatewayAsk::Cancel { run }),
    ];
    prop_oneof![
        (id(), ask).prop_map(|(id, ask)| FromGateway::Request { id, ask }),
        (id(), prop_oneof![json().prop_map(Ok), failure().prop_map(Err)]).prop_map(|(id, result)| FromGateway::Answer { id, result }),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let called = (any::<String>(), select(&ToolSource::ALL[..]), any::<String>(), any::<String>())
        .prop_map(|(id, source, source_name, name)| CalledTool { id, source, source_name, name });
    let asked = (run(), 1..1_u64 << 53, called, object());
    prop_oneof![
        hello().prop_map(Ask::Hello),
        (run(), any::<String>(), option::of(0..1_u64 << 53)).prop_map(|(run, query, limit)| Ask::Search { run, query, limit }),
        (run(), any::<String>()).prop_map(|(run, id)| Ask::Describe { run, id }),
        (run(), 1..1_u64 << 53, any::<String>(), object()).prop_map(|(run, seq, id, args)| Ask::Call { run, seq, id, args }),
        (any::<bool>(), asked).prop_map(|(approve, (run, seq, tool, args))| match approve {
            true => Ask::Approve { run, seq, tool, args },
            false => Ask::Hook { run, seq, tool, args },
        }),
    ]
}

fn notice() -> impl Strategy<Value = Notice> {
    let call =
        (run(), 1..1_u64 << 53, select(&RequestMethod::ALL[..]), select(&RequestState::ALL[..]), option::of(any::<String>()), object());
    prop_oneof![
        (run(), select(&Level::ALL[..]), any::<String>()).prop_map(|(run, level, text)| Notice::Log { run, level, text }),
        call.prop_map(|(run, seq, method, state, id, entry)| {
            let entry = state.is_final().then_some(entry);
            Notice::Call(CallNotice { run, seq, method, state, id, entry })
        }),
        (run(), object()).prop_map(|(run, report)| Notice::Finished { run, report }),
        id().prop_map(|id| Notice::Cancel { id }),
        (select(&GoodbyeCode::ALL[..]), any::<String>()).prop_map(|(code, message)| Notice::Goodbye { code, message }),
    ]
}

/// Any message of codemode.
pub fn to_gateway() -> impl Strategy<Value = ToGateway> {
    let refusal = (select(&RefusalCode::ALL[..]), any::<String>()).prop_map(|(code, message)| Refusal { code, message });
    prop_oneof![
        (id(), ask()).prop_map(|(id, ask)| ToGateway::Request { id, ask }),
        notice().prop_map(ToGateway::Notice),
        (id(), prop_oneof![json().prop_map(Ok), refusal.prop_map(Err)]).prop_map(|(id, result)| ToGateway::Answer { id, result }),
    ]
}

/// Messages of both ends in frames, now and then with a byte that is another.
pub fn stream() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        from_gateway().prop_map(|message| serde_json::to_vec(&message).expect("JSON")),
        to_gateway().prop_map(|message| serde_json::to_vec(&message).expect("JSON")),
    ];
    let frame = (text, option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>()))).prop_map(|(mut text, spoilt)| {
        if let Some((at, byte)) = spoilt {
            let at = at.index(text.len());
            text[at] = byte;
        }
        [&(text.len() as u32).to_be_bytes()[..], &text].concat()
    });
    vec(frame, 0..10).prop_map(|frames| frames.concat())
}
