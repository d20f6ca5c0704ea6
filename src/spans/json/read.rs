//! Visitors that accept any JSON value and say what it was, so that a wrong type is a fact about one field.
//!
//! serde ends a whole pass at the first error, which is right for syntax alone.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What stood where a list or an object was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Got {
    /// One, and it was taken.
    Taken,
    /// `null`.
    Absent,
    /// Something else, stepped over.
    WrongType,
}

/// Takes the members of a JSON object.
pub(super) trait Object<'de> {
    /// Takes the value of `key`, or steps over it: exactly one value must be consumed.
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// The object had no members.
    fn empty(&mut self) {}
}

/// Takes the elements of a JSON list.
pub(super) trait List<'de> {
    /// Takes one element; false where there was none left.
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error>;
}

/// Steps over a member's value, however deep it is.
pub(super) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Steps over the rest of a list.
pub(super) fn drain_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Steps over the rest of an object.
pub(super) fn drain_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The scalar methods of a visitor that all give the same.
macro_rules! scalars_give {
    ($value:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

pub(super) struct ObjectSeed<'o, O>(pub(super) &'o mut O);

impl<'de, O: Object<'de>> DeserializeSeed<'de> for ObjectSeed<'_, O> {
    type Value = Got;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Got, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, O: Object<'de>> Visitor<'de> for ObjectSeed<'_, O> {
    type Value = Got;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Got, A::Error> {
        let mut members = 0u64;
        while let Some(Key(key)) = map.next_key_seed(KeySeed)? {
            self.0.member(&key, &mut map)?;
            members += 1;
        }
        if members == 0 {
            self.0.empty();
        }
        Ok(Got::Taken)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Got, A::Error> {
        drain_list(list).map(|()| Got::WrongType)
    }

    fn visit_unit<E>(self) -> Result<Got, E> {
        Ok(Got::Absent)
    }

    fn visit_str<E>(self, _: &str) -> Result<Got, E> {
        Ok(Got::WrongType)
    }

    scalars_give!(Got::WrongType);
}

pub(super) struct ListSeed<'l, L>(pub(super) &'l mut L);

impl<'de, L: List<'de>> DeserializeSeed<'de> for ListSeed<'_, L> {
    type Value = Got;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Got, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, L: List<'de>> Visitor<'de> for ListSeed<'_, L> {
    type Value = Got;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Got, A::Error> {
        while self.0.element(&mut list)? {}
        Ok(Got::Taken)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Got, A::Error> {
        drain_map(map).map(|()| Got::WrongType)
    }

    fn visit_unit<E>(self) -> Result<Got, E> {
        Ok(Got::Absent)
    }

    fn visit_str<E>(self, _: &str) -> Result<Got, E> {
        Ok(Got::WrongType)
    }

    scalars_give!(Got::WrongType);
}

/// A key, borrowed from the body where it has no escapes.
struct Key<'de>(Cow<'de, str>);
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key<'de>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}
