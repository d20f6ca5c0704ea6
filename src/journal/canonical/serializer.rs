//! The `serde` face of the writer: which JSON each kind of value becomes (as `serde_json` does it).

use serde::ser::{self, Impossible, Serialize, Serializer};

use super::write::{Array, CanonicalError, Object, Writer};

type Result<T = ()> = std::result::Result<T, CanonicalError>;

/// The name by which `serde_json` passes raw JSON through a serializer.
const RAW: &str = "$serde_json::private::RawValue";

impl<'w, 'r> Serializer for &'w mut Writer<'r> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Array<'w, 'r>;
    type SerializeTuple = Array<'w, 'r>;
    type SerializeTupleStruct = Array<'w, 'r>;
    type SerializeTupleVariant = Array<'w, 'r>;
    type SerializeMap = Object<'w, 'r>;
    type SerializeStruct = Object<'w, 'r>;
    type SerializeStructVariant = Object<'w, 'r>;

    fn serialize_bool(self, value: bool) -> Result {
        self.raw(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result {
        self.integer(value < 0, value.unsigned_abs());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result {
        self.integer(false, value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result {
        self.number(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result {
        self.number(value)
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.raw(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.fixed(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        let mut object = Object::open(self, false)?;
        object.key(variant, true);
        object.value(value)?;
        object.close()
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Array<'w, 'r>> {
        Array::open(self, len, false)
    }

    fn serialize_tuple(self, len: usize) -> Result<Array<'w, 'r>> {
        Array::open(self, Some(len), false)
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Array<'w, 'r>> {
        Array::open(self, Some(len), false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Array<'w, 'r>> {
        self.variant(variant)?;
        Array::open(self, Some(len), true)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'w, 'r>> {
        Object::open(self, false)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'w, 'r>> {
        if name == RAW {
            return Err(CanonicalError::Refused("raw JSON has no canonical form of its own".to_owned()));
        }
        Object::open(self, false)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'w, 'r>> {
        self.variant(variant)?;
        Object::open(self, true)
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result {
        self.serialize_str(&value.to_string())
    }
}

macro_rules! array {
    ($($face:ident :: $element:ident),*) => {$(
        impl ser::$face for Array<'_, '_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                self.element(value)
            }

            fn end(self) -> Result {
                self.close()
            }
        }
    )*};
}
array!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! object {
    ($($face:ident),*) => {$(
        impl ser::$face for Object<'_, '_> {
            type Ok = ();
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result {
                self.key(key, true);
                self.value(value)
            }

            fn end(self) -> Result {
                self.close()
            }
        }
    )*};
}
object!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Object<'_, '_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let key = key.serialize(KeyText)?;
        self.key(&key, false);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.value(value)
    }

    fn end(self) -> Result {
        self.close()
    }
}

/// Takes a map's key as text. Only text and integers are keys.
struct KeyText;

macro_rules! integer_keys {
    ($($name:ident: $kind:ty),*) => {$(
        fn $name(self, value: $kind) -> Result<String> {
            Ok(value.to_string())
        }
    )*};
}
macro_rules! no_keys {
    ($($name:ident($($kind:ty),*)),* $(,)?) => {$(
        fn $name(self, $(_: $kind),*) -> Result<String> {
            Err(CanonicalError::KeyKind)
        }
    )*};
}

impl Serializer for KeyText {
    type Ok = String;
    type Error = CanonicalError;
    type SerializeSeq = Impossible<String, CanonicalError>;
    type SerializeTuple = Impossible<String, CanonicalError>;
    type SerializeTupleStruct = Impossible<String, CanonicalError>;
    type SerializeTupleVariant = Impossible<String, CanonicalError>;
    type SerializeMap = Impossible<String, CanonicalError>;
    type SerializeStruct = Impossible<String, CanonicalError>;
    type SerializeStructVariant = Impossible<String, CanonicalError>;

    fn serialize_str(self, value: &str) -> Result<String> {
        Ok(value.to_owned())
    }

    fn serialize_char(self, value: char) -> Result<String> {
        Ok(value.to_string())
    }

    integer_keys!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );
    no_keys!(
        serialize_bool(bool),
        serialize_f32(f32),
        serialize_f64(f64),
        serialize_bytes(&[u8]),
        serialize_none(),
        serialize_unit(),
        serialize_unit_struct(&'static str),
    );

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<String> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<String> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct> {
        Err(CanonicalError::KeyKind)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant> {
        Err(CanonicalError::KeyKind)
    }
}
