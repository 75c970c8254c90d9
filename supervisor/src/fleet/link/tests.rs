//! Both directions of a link without NATS between: what is lost, repeated, forged and too much.

use proptest::prelude::*;

use super::LinkFault;
use super::arrived::Arrived;
use super::inbound::{Came, Inbound};
use super::outbound::Outbound;
use super::property;
use super::window::{MOST_BYTES, MOST_PARCELS, MOST_PIECE};
use crate::fleet::id::Id;
use crate::fleet::subjects::End;
use crate::fleet::wire::{HEAD, Kind, NoMessage, Parcel};

const TOKEN: [u8; 16] = [9; 16];
const LIMIT: usize = 1 << 20;

fn inbound() -> Inbound {
    Inbound::new(Id::of(TOKEN), End::Worker, 0, LIMIT)
}

fn outbound(max_payload: usize) -> Outbound<Vec<u8>> {
    Outbound::new(Id::of(TOKEN), End::Worker, 0, max_payload)
}

fn parcel(number: u64, kind: Kind, bytes: &[u8]) -> Vec<u8> {
    Parcel { kind, end: End::Worker, token: Id::of(TOKEN), number, heard: 0, bytes }.write()
}

/// All pieces of a text, the other end keeping up.
fn pieces(out: &mut Outbound<Vec<u8>>, text: &[u8]) -> Vec<Vec<u8>> {
    assert!(out.is_idle());
    out.load(text.to_vec());
    let mut all = Vec::new();
    while let Some(piece) = out.next(0) {
        out.done(Parcel::read(&piece).unwrap().number).unwrap();
        all.push(piece);
    }
    assert!(out.is_idle());
    all
}

/// Parcels of whoever knows the token and keeps to nothing else, as `hostile` takes them.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(&b"pppttttbox\x00"[..]);
    let heard = prop_oneof![0_u64..4, any::<u64>()];
    let bytes =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..60), "[ -~]{0,200}".prop_map(String::into_bytes), Just(vec![b'['; 3_000])];
    let one = (kind, 0_u8..20, heard, bytes).prop_map(|(kind, rare, heard, bytes)| {
        let mut message = parcel(1, Kind::Part, &bytes);
        message[1] = kind;
        message[HEAD - 8..HEAD].copy_from_slice(&heard.to_be_bytes());
        match rare {
            0 => message[0] = 2,
            1 => message[2] = b'g',
            2 => message.truncate(HEAD - 1),
            _ => {}
        }
        let length = u16::try_from(message.len()).unwrap();
        [&length.to_be_bytes()[..], &message].concat()
    });
    (0_u8..8, prop::collection::vec(one, 0..30)).prop_map(|(switches, all)| [vec![switches << 1], all.concat()].concat())
}

proptest! {
    #[test]
    fn whatever_a_peer_says_is_taken_or_refused_by_name_and_bounded(bytes in prop_oneof![stream(), prop::collection::vec(any::<u8>(), 0..300)]) {
        property::of_bytes(&bytes);
    }

    #[test]
    fn two_ends_and_any_network_between_never_make_another_text(network in any::<bool>(), steps in prop::collection::vec(any::<u8>(), 0..600)) {
        property::of_bytes(&[vec![1 | u8::from(network) << 1], steps].concat());
    }

    #[test]
    fn texts_come_as_they_went_whatever_the_size_of_a_message(texts in prop::collection::vec("[ -~]{0,400}", 1..6), max in HEAD + 1..HEAD + 90, doubled in any::<u8>()) {
        let (mut out, mut into) = (outbound(max), inbound());
        let mut came = Vec::new();
        for text in &texts {
            for (index, piece) in pieces(&mut out, text.as_bytes()).into_iter().enumerate() {
                prop_assert!(piece.len() <= max);
                if let (Came::Text(_, text), _) = into.take(&piece).unwrap() {
                    came.push(text);
                }
                if doubled.is_multiple_of(2 + u8::try_from(index % 5).unwrap()) {
                    prop_assert_eq!(into.take(&piece).unwrap().0, Came::Duplicate);
                }
            }
        }
        prop_assert_eq!(came, texts);
    }

    #[test]
    fn one_lost_parcel_is_found_by_the_next_one(text in "[a-z]{200,300}", lost in 0_usize..4) {
        let (mut out, mut into) = (outbound(HEAD + 40), inbound());
        let mut fault = None;
        for (index, piece) in pieces(&mut out, text.as_bytes()).iter().enumerate().filter(|(index, _)| *index != lost) {
            match into.take(piece) {
                Ok(_) => prop_assert!(index < lost),
                Err(error) => { fault = Some(error); break }
            }
        }
        prop_assert_eq!(fault, Some(LinkFault::Gap { expected: lost as u64 + 1, came: lost as u64 + 2 }));
    }

    #[test]
    fn no_change_of_one_byte_of_a_head_passes(at in 0_usize..HEAD - 8, bit in 0_u32..8) {
        let mut message = parcel(1, Kind::Text, b"{}");
        message[at] ^= 1 << bit;
        // Another kind of the same length may stand there; whoever knows the token may say what it likes.
        if let Ok((came, _)) = inbound().take(&message) {
            prop_assert!(at == 1 && matches!(came, Came::Part(_)), "byte {} bit {}", at, bit);
        }
    }
}

#[test]
fn who_does_not_know_the_token_or_speaks_as_the_other_end_is_found_out() {
    let forged = Parcel { kind: Kind::Text, end: End::Worker, token: Id::of([8; 16]), number: 1, heard: 0, bytes: b"{}" }.write();
    assert_eq!(inbound().take(&forged), Err(LinkFault::Forged));
    let mirrored = Parcel { kind: Kind::Text, end: End::Gateway, token: Id::of(TOKEN), number: 1, heard: 0, bytes: b"{}" }.write();
    assert_eq!(inbound().take(&mirrored), Err(LinkFault::Forged));
    assert_eq!(inbound().take(&parcel(1, Kind::Open, b"x")), Err(LinkFault::Forged));
    assert_eq!(inbound().take(b""), Err(LinkFault::NoMessage(NoMessage("it is too short"))));
}

#[test]
fn a_text_is_bounded_before_it_is_kept() {
    let mut into = Inbound::new(Id::of(TOKEN), End::Worker, 0, 10);
    assert_eq!(into.take(&parcel(1, Kind::Part, &[b'a'; 8])).unwrap().0, Came::Part(8));
    assert_eq!(into.take(&parcel(2, Kind::Text, &[b'a'; 3])), Err(LinkFault::TooLong { bytes: 11, limit: 10 }));
    assert_eq!(inbound().take(&parcel(1, Kind::Text, b"\xff")), Err(LinkFault::NotUtf8));
    let piece = vec![b'a'; MOST_PIECE + 1];
    assert_eq!(inbound().take(&parcel(1, Kind::Part, &piece)), Err(LinkFault::TooLong { bytes: MOST_PIECE + 1, limit: MOST_PIECE }));
}

#[test]
fn who_sends_further_ahead_than_it_may_is_not_listened_to() {
    // Whole texts that nobody takes, small and large. The control: one that is told may go on.
    for (bytes, most) in [(1, MOST_PARCELS), (MOST_PIECE, MOST_BYTES / MOST_PIECE)] {
        let mut arrived = Arrived::new(inbound());
        let text = vec![b'x'; bytes];
        for number in 1..=most as u64 {
            assert_eq!(arrived.take(&parcel(number, Kind::Text, &text)), Ok(Some(0)));
            assert_eq!(arrived.take(&parcel(number, Kind::Text, &text)), Ok(None), "one that comes again takes no room");
        }
        let next = parcel(most as u64 + 1, Kind::Text, &text);
        let mut told = Arrived::new(inbound());
        for number in 1..=most as u64 + 1 {
            assert_eq!(told.take(&parcel(number, Kind::Text, &text)), Ok(Some(0)));
            assert!(told.next().is_some());
            told.tell();
        }
        assert_eq!(arrived.take(&next), Err(LinkFault::TooFar));
        assert!(arrived.held() <= MOST_BYTES, "{}", arrived.held());
    }
}

#[test]
fn who_is_not_told_that_things_are_done_with_stops_sending() {
    let mut out = outbound(HEAD + 100);
    let mut sent = 0;
    while sent < 10_000 {
        if out.is_idle() {
            out.load(vec![b'x'; 50]);
        }
        let Some(_) = out.next(0) else { break };
        sent += 1;
    }
    assert_eq!(sent, MOST_PARCELS);
    out.done(1).unwrap();
    assert!(out.next(0).is_some(), "room for one more");
    assert!(out.next(0).is_none());
    // A beat needs no room.
    assert!(!out.beat(0).is_empty());
    let mut large = outbound(1 << 30);
    large.load(vec![b'x'; 64 << 20]);
    let bytes: usize = std::iter::from_fn(|| large.next(0)).map(|piece| piece.len()).sum();
    assert!((1 << 20..3 << 20).contains(&bytes), "{bytes}");
    assert_eq!(large.done(1_000), Err(LinkFault::Unsent { heard: 1_000, last: 8 }));
}
