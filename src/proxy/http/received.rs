//! A request's body: read where it carries arguments, passed through unread where it does not.

use std::time::Duration;

use http::header::{CONTENT_LENGTH, EXPECT};
use http::request::Parts;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use serde_json::{Value, json};

use crate::permit::{Refusal, RefusalCode};
use crate::proxy::arguments::{self, BodyForm, RECORDED, shorten};
use crate::proxy::body::{KEPT_OF_LONGER, opaque_prefix};
use crate::proxy::channel::Site;
use crate::scenario::{Behaviour, Tool};

/// A body without arguments is kept for the record up to this many bytes, where it says its length before.
const KEPT: u64 = 16 << 10;

/// The longest that a body may be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request's body and arguments.
#[derive(Debug)]
pub struct Received {
    /// An object; null where there were none.
    pub arguments: Value,
    /// Why the arguments could not be read from the body.
    pub unreadable: Option<String>,
    /// Why the body is not taken.
    pub refused: Option<Refusal>,
    /// What is left to forward.
    pub body: Taken,
    form: BodyForm,
    unread: bool,
}

/// A request's body on its way to the world.
#[derive(Debug)]
pub enum Taken {
    /// There is none.
    None,
    /// Read.
    Whole {
        /// Its bytes.
        bytes: Bytes,
        /// What came after them.
        trailers: Option<HeaderMap>,
    },
    /// Not read.
    Streaming(Incoming),
}

impl Received {
    /// Reads what there is to read. A body that carries arguments, or is for the embedded world, has to be within the
    /// limit; one that only passes through has none.
    pub async fn read(
        parts: &Parts,
        variables: &[(&str, &str)],
        tool: Option<&Tool>,
        site: &Site,
        body: Incoming,
    ) -> Self {
        let form = BodyForm::of(&parts.headers);
        let embedded = tool.is_some_and(|tool| matches!(tool.behaviour, Behaviour::Sqlite(_)));
        let length = body.size_hint().exact();
        let read = embedded || form != BodyForm::Opaque || length.is_some_and(|length| length <= KEPT);
        let query = parts.uri.query();
        let (taken, refused) = if body.is_end_stream() {
            (Taken::None, None)
        } else if read {
            match whole(body, site.body_at_most).await {
                Ok(taken) => (taken, None),
                Err(refusal) => (Taken::None, Some(refusal)),
            }
        } else {
            (Taken::Streaming(body), None)
        };
        let bytes = match &taken {
            Taken::Whole { bytes, .. } => Some(&bytes[..]),
            Taken::None | Taken::Streaming(_) => None,
        };
        let read = arguments::read(tool, variables, query, form, bytes);
        Self {
            arguments: read.value,
            unreadable: read.unreadable,
            form,
            unread: refused.is_some() || matches!(taken, Taken::Streaming(_)),
            refused,
            body: taken,
        }
    }

    /// The arguments, where a form gave some of them.
    pub fn form_fields(&self) -> Option<&Value> {
        Some(&self.arguments).filter(|_| self.form == BodyForm::Form)
    }

    /// What a row is to hold instead of the arguments, and whether it holds less than was sent.
    pub fn recorded(&self) -> (Option<Value>, bool) {
        let Taken::Whole { bytes, .. } = &self.body else {
            return (None, self.unread);
        };
        if bytes.len() <= RECORDED {
            return (None, false);
        }
        let mut shorter = self.arguments.clone();
        shorten(&mut shorter);
        if shorter.to_string().len() > RECORDED {
            shorter = json!({ "body": opaque_prefix(&bytes[..KEPT_OF_LONGER]) });
        }
        (Some(shorter), true)
    }
}

/// Reads a whole body; the refusal is of one that is too long, or never came.
pub async fn whole(body: Incoming, at_most: u64) -> Result<Taken, Refusal> {
    let length = body.size_hint().exact();
    let too_large =
        || Refusal { code: RefusalCode::BodyTooLarge, reason: format!("the body is over {at_most} bytes") };
    if length.is_some_and(|length| length > at_most) {
        return Err(too_large());
    }
    let limit = usize::try_from(at_most).unwrap_or(usize::MAX);
    match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => {
            Ok(Taken::Whole { trailers: collected.trailers().cloned(), bytes: collected.to_bytes() })
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        // It broke off, or never came: there is nobody to answer, and nothing to do.
        Ok(Err(_)) | Err(_) => {
            Err(Refusal { code: RefusalCode::UnknownAction, reason: "the body did not arrive".to_owned() })
        }
    }
}

/// Takes a body off the wire unread, as far as that is little.
pub async fn discard(request: &mut Request<Incoming>) {
    const LITTLE: u64 = 1 << 20;
    let headers = request.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if headers.contains_key(EXPECT) || length.is_some_and(|length: u64| length > LITTLE) {
        return;
    }
    let body = request.body_mut();
    let all = async {
        let mut left = LITTLE;
        while let Some(Ok(frame)) = body.frame().await {
            let came = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(came) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Whoever sends slower than this is not waited for; the refusal stands.
    drop(tokio::time::timeout(Duration::from_secs(1), all).await);
}
