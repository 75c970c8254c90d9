//! The properties under random input; `corpus.rs` replays the kept inputs and `fuzz/` searches for new ones.

mod strategy;

use codemode_protocol::message::{CallCode, ChildVerdict, Level, ValueType};
use codemode_protocol::{
    Ask, Console, FromChild, Hello, JsonText, Request, RequestId, Returned, RunAnswer, RunError, ToChild, WireError, property,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        select(vec!["__proto__", "\u{feff}", "\u{10ffff}\u{0}\"\\", "jsonrpc"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 12, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((any::<String>(), inner), 0..12).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

fn json_text() -> impl Strategy<Value = JsonText> {
    any_json().prop_map(|value| JsonText::of(&value).expect("a value has JSON"))
}

fn object_text() -> impl Strategy<Value = JsonText> {
    any_json().prop_map(|value| JsonText::of(&json!({ "any": value })).expect("a value has JSON"))
}

fn id() -> impl Strategy<Value = RequestId> {
    (1..1_u64 << 53).prop_map(|id| RequestId::new(id).expect("inside the range"))
}

fn integer() -> impl Strategy<Value = u64> {
    1..1_u64 << 53
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        (any::<String>(), proptest::option::of(integer())).prop_map(|(query, limit)| Ask::Search { query, limit }),
        any::<String>().prop_map(|id| Ask::Describe { id }),
        (any::<String>(), object_text()).prop_map(|(id, args)| Ask::Call { id, args }),
    ]
}

fn returned() -> impl Strategy<Value = Returned> {
    (json_text(), select(&ValueType::ALL[..])).prop_map(|(value, value_type)| Returned { value, value_type })
}

fn failed() -> impl Strategy<Value = RunAnswer> {
    let words = (select(&ChildVerdict::ALL[..]), any::<String>(), any::<String>());
    let place = (proptest::option::of(integer()), proptest::option::of(integer()));
    let rest = (proptest::option::of(any::<String>()), proptest::option::of(json_text()), proptest::option::of(returned()));
    (words, place, rest).prop_map(|((code, name, message), (line, column), (stack, data, returned))| {
        RunAnswer::Failed(Box::new(RunError { code, name, message, line, column, stack, data, returned }))
    })
}

fn from_child() -> impl Strategy<Value = FromChild> {
    let console = (select(&Level::ALL[..]), any::<String>(), integer());
    prop_oneof![
        "[v0-9.]{0,64}".prop_map(|node| FromChild::Hello(Hello { node })),
        console.prop_map(|(level, text, dropped)| FromChild::Console(Console { level, text, dropped })),
        (id(), ask()).prop_map(|(id, ask)| FromChild::Request(Request { id, ask })),
        (id(), prop_oneof![returned().prop_map(RunAnswer::Returned), failed()]).prop_map(|(id, answer)| FromChild::Answer { id, answer }),
    ]
}

fn to_child() -> impl Strategy<Value = ToChild> {
    let error = (select(&CallCode::ALL[..]), any::<String>(), any::<String>(), proptest::option::of(any::<String>()));
    let error = (error, object_text()).prop_map(|((code, message, name, tool_id), data)| WireError {
        name,
        tool_id,
        ..WireError::new(code, message).with_data(data)
    });
    let result = prop_oneof![json_text().prop_map(Ok), error.prop_map(Err)];
    (id(), result).prop_map(|(id, result)| ToChild::Reply { id, result })
}

/// Text that is nearly JSON: tokens in any order, so that most of the grammar's edges come up.
fn nearly_json() -> impl Strategy<Value = String> {
    let tokens = select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\x\"",
        "\"",
        "1",
        "-0",
        "01",
        "1.",
        "1e5",
        "1E400",
        "-",
        "1.5e-3",
        "true",
        "nul",
        "null",
        " ",
        "\t",
        "\u{feff}",
        "\u{1}",
        "é",
    ]);
    vec(tokens, 0..24).prop_map(|tokens| tokens.concat())
}

/// JSON that is an object, with one letter changed.
fn broken_json() -> impl Strategy<Value = String> {
    let letters = select(vec!["", "\"", "{", "}", "[", "]", ",", ":", "\\", "0", "e", "\u{0}"]);
    (from_child(), any::<prop::sample::Index>(), letters).prop_map(|(message, at, letter)| {
        let mut letters: Vec<String> = serde_json::to_string(&message).expect("JSON").chars().map(String::from).collect();
        let at = at.index(letters.len());
        letters[at] = letter.to_owned();
        letters.concat()
    })
}

/// Frames with true and false lengths.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let frame = (vec(any::<u8>(), 0..320), -1..2_i32, 0..8_u8).prop_map(|(text, lie, rare)| {
        let text: Vec<u8> = if rare == 0 { text } else { text.iter().map(|byte| byte & 0x7f).collect() };
        let length = (text.len() as i32 + if rare == 1 { lie } else { 0 }).max(0);
        [&(length as u32).to_be_bytes()[..], &text].concat()
    });
    vec(frame, 0..6).prop_map(|frames| frames.concat())
}

/// What a child might send: legal messages with small ids, framed.
fn child_stream() -> impl Strategy<Value = Vec<u8>> {
    let small = |message: FromChild, id: u64| {
        let id = RequestId::new(id).expect("inside the range");
        match message {
            FromChild::Request(Request { ask, .. }) => FromChild::Request(Request { id, ask }),
            FromChild::Answer { answer, .. } => FromChild::Answer { id, answer },
            other => other,
        }
    };
    let hello = FromChild::Hello(Hello { node: "v24.0.0".to_owned() });
    (any::<[u8; 2]>(), vec((from_child(), 1..9_u64), 0..12)).prop_map(move |(head, messages)| {
        let mut stream = head.to_vec();
        let first = std::iter::once(hello.clone());
        for message in first.chain(messages.into_iter().map(|(message, id)| small(message, id))) {
            let text = serde_json::to_vec(&message).expect("JSON");
            stream.extend((text.len() as u32).to_be_bytes());
            stream.extend(text);
        }
        stream
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_frames(bytes in stream(), cuts in vec(any::<u8>(), 0..8)) {
        property::decode_any_chunking(&bytes, &cuts);
    }

    #[test]
    fn tokens_in_any_order_are_read_or_refused(text in nearly_json()) {
        property::text_is_read_or_refused(&text);
    }

    #[test]
    fn tokens_inside_an_object_are_read_or_refused(text in nearly_json()) {
        property::text_is_read_or_refused(&format!("{{\"a\":{text}}}"));
    }

    #[test]
    fn broken_messages_are_read_or_refused(text in broken_json()) {
        property::text_is_read_or_refused(&text);
        property::lone_frame(&text);
    }

    #[test]
    fn any_value_passes(value in any_json()) {
        property::pass_agrees_with_serde(&json!({ "value": value }).to_string());
    }

    #[test]
    fn messages_of_the_child_survive_the_wire(message in from_child()) {
        property::roundtrip_from_child(&message);
    }

    #[test]
    fn messages_to_the_child_survive_the_wire(message in to_child()) {
        property::roundtrip_to_child(&message);
    }

    #[test]
    fn a_session_survives_any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        property::hostile_child(&bytes);
    }

    #[test]
    fn a_session_survives_any_order_of_messages(bytes in child_stream()) {
        property::hostile_child(&bytes);
    }

    #[test]
    fn honest_ends_never_break_the_wire(steps in vec(any::<u8>(), 0..400)) {
        property::honest_pair(&steps);
    }

    #[test]
    fn messages_of_a_gateway_survive_the_wire(message in strategy::from_gateway()) {
        property::roundtrip_from_gateway(&message);
    }

    #[test]
    fn messages_to_a_gateway_survive_the_wire(message in strategy::to_gateway()) {
        property::roundtrip_to_gateway(&message);
    }

    #[test]
    fn any_bytes_of_a_gateway_are_messages_or_violations(bytes in vec(any::<u8>(), 0..200)) {
        property::gateway_stream(&bytes);
    }

    #[test]
    fn any_order_of_a_gateways_messages_is_kept_to_account(bytes in strategy::stream()) {
        property::gateway_stream(&bytes);
    }

    #[test]
    fn broken_messages_of_a_gateway_are_read_or_refused(text in nearly_json()) {
        property::gateway_text(&text);
        property::gateway_text(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{text}}}"));
    }
}
