//! What is written is read again, and nothing else is.

use codemode_jail::wire::{Event, FLAG_TEMPLATE, Order, PLAN_MAX, Plan, RECORD_LEN, RLIMITS_MAX, Record, Rlimit, STEPS, Step};

fn plan() -> Plan<'static> {
    let mut rlimits = [Rlimit::default(); RLIMITS_MAX];
    rlimits[0] = Rlimit { resource: 7, soft: 64, hard: u64::MAX };
    Plan {
        nonce: *b"0123456789abcdef",
        flags: FLAG_TEMPLATE,
        steps: Step::Landlock.bit() | Step::ArmedFilter.bit(),
        parent: 4242,
        uid: 65_533,
        gid: 65_534,
        rlimits,
        rlimit_count: 1,
        startup: &[1; 16],
        armed: &[2; 24],
        armed_end: &[3; 8],
        dry: b"a conversation",
        fork_dry: b"a short one",
    }
}

#[test]
fn a_plan_survives_the_way() {
    let mut bytes = [0; PLAN_MAX];
    let length = plan().encode(&mut bytes).expect("it fits");
    let read = Plan::decode(&bytes[..length]).expect("a plan");
    assert_eq!(format!("{read:?}"), format!("{:?}", plan()));
}

#[test]
fn a_plan_that_is_cut_or_longer_is_none() {
    let mut bytes = [0; PLAN_MAX];
    let length = plan().encode(&mut bytes).expect("it fits");
    for cut in 0..length {
        assert!(Plan::decode(&bytes[..cut]).is_none(), "cut at {cut}");
    }
    assert!(Plan::decode(&bytes[..=length]).is_none());
    let mut filter_of_nine_bytes = plan();
    filter_of_nine_bytes.armed = &[0; 9];
    let length = filter_of_nine_bytes.encode(&mut bytes).expect("it fits");
    assert!(Plan::decode(&bytes[..length]).is_none());
    assert!(plan().encode(&mut [0; 64]).is_none(), "too little room");
}

#[test]
fn a_record_survives_the_way_and_nothing_else_is_one() {
    let events = STEPS.map(Event::Step).into_iter().chain([
        Event::StageOne,
        Event::Gate,
        Event::Armed,
        Event::OffList,
        Event::Abort,
        Event::Forked,
        Event::Act,
    ]);
    for event in events {
        let record = Record { nonce: [9; 16], event, errno: 38, detail: u64::MAX - 1 };
        let bytes = record.encode();
        assert_eq!(Record::decode(&bytes), Some(record));
        assert_eq!(Record::decode(&bytes[..RECORD_LEN - 1]), None);
        let mut other = bytes;
        other[19] = 1;
        assert_eq!(Record::decode(&other), None, "a reserved byte is set");
    }
    assert_eq!(Record::decode(&[0; RECORD_LEN]), None);
}

#[test]
fn an_order_survives_the_way() {
    let order = Order { nonce: [7; 16], data_soft: 1, data_hard: 2, cpu_seconds: 3, dry_runs: 4 };
    let bytes = order.encode();
    assert_eq!(Order::decode(&bytes), Some(order));
    assert_eq!(Order::decode(&bytes[1..]), None);
    assert_eq!(Order::decode(&[bytes.as_slice(), &[0]].concat()), None);
    assert_eq!(Order::decode(&[0; 56]), None);
}

#[test]
fn a_step_is_its_number_and_its_bit() {
    for (number, step) in STEPS.into_iter().enumerate() {
        assert_eq!((step as usize, step.bit()), (number, 1 << number));
        assert_eq!(Step::from_byte(number as u8), Some(step));
    }
    assert_eq!(Step::from_byte(STEPS.len() as u8), None);
}
