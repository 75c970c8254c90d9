//! What the pass leaves behind: where the members of the two outer levels stand.

/// A part of the text. Frames are at most 64 MiB, so 32 bits are enough and the key list of a hostile object stays small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Span {
    pub(super) fn new(from: usize, to: usize) -> Self {
        Self { from: from as u32, to: to as u32 }
    }

    pub(super) fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.from as usize..self.to as usize).unwrap_or("")
    }
}

/// A key without its quotes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Key {
    pub(super) span: Span,
    pub(super) escaped: bool,
}

/// One member of one of the two outer levels.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Member {
    pub(super) key: Key,
    pub(super) value: Span,
    /// On the second level: which member of the first it belongs to.
    pub(super) parent: u8,
}

/// No object of the wire has more members than this; what lies beyond is an unknown field for sure.
pub(super) const MAX_MEMBERS: usize = 8;

/// The first members of one level.
#[derive(Debug, Default)]
pub(super) struct Level {
    members: [Member; MAX_MEMBERS],
    count: usize,
    /// There were more.
    more: bool,
}

impl Level {
    /// Lists a member, as far as there is room, and gives its place.
    pub(super) fn add(&mut self, member: Member) -> Option<u8> {
        let Some(slot) = self.members.get_mut(self.count) else {
            self.more = true;
            return None;
        };
        *slot = member;
        self.count += 1;
        // At most MAX_MEMBERS.
        Some(self.count as u8 - 1)
    }

    /// The value of a listed member ends here.
    pub(super) fn close(&mut self, place: u8, at: usize) {
        self.members[usize::from(place)].value.to = at as u32;
    }

    fn listed(&self) -> impl Iterator<Item = &Member> {
        self.members[..self.count].iter()
    }
}

/// The members of the outermost object, and of the objects directly in it.
///
/// The second level is shared by all objects in it. A message of the wire has one object there that is looked into; a message with several is refused
/// for one of them in any case.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(super) text: &'a str,
    pub(super) levels: [Level; 2],
}

/// A listed member, and where the members inside it are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The text of the value.
    pub(crate) value: &'a str,
    place: u8,
}

/// An object with more members than any message has.
pub(crate) struct TooMany;

impl<'a> Outline<'a> {
    /// The members of the outermost object.
    pub(crate) fn root(&self) -> Result<impl Iterator<Item = (&'a str, Entry<'a>)> + '_, TooMany> {
        let [level, _] = &self.levels;
        if level.more {
            return Err(TooMany);
        }
        Ok(level.listed().zip(0..).map(|(member, place)| self.member(member, place)))
    }

    /// The members of the object in a member of the outermost one.
    pub(crate) fn inside(&self, entry: Entry<'a>) -> Result<impl Iterator<Item = (&'a str, Entry<'a>)> + '_, TooMany> {
        let [_, level] = &self.levels;
        if level.more {
            return Err(TooMany);
        }
        let here = level.listed().filter(move |member| member.parent == entry.place);
        Ok(here.map(|member| self.member(member, u8::MAX)))
    }

    /// A key written with escapes is none of ours: it stays as it stands, and so is unknown.
    fn member(&self, member: &Member, place: u8) -> (&'a str, Entry<'a>) {
        let value = member.value.of(self.text);
        (member.key.span.of(self.text), Entry { value, place })
    }
}
