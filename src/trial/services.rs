//! The services behind the tools: started, put back or waited for before a trial, and given back after it.
//!
//! What is started and says nothing of how it is put back is started anew for each trial. What can be put back serves one
//! trial after another, each instance one at a time; and a service that is not ours to start serves one trial at a time,
//! where it is to be put back between them. A service without any of this is shared, and what one trial leaves there
//! another finds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::clock::Clock;
use crate::journal::{FindingRow, Journal, OutputRow, TrialError};
use crate::name::TrialId;
use crate::proxy::{Pipes, Started};
use crate::scenario::{Contract, Upstream, UpstreamKind};
use crate::target::{Filters, Output, Service, ServiceLaunch, reset};

/// Services of one contract that wait for the next trial.
#[derive(Debug, Default)]
pub(super) struct Pool {
    idle: Mutex<BTreeMap<String, Vec<Service>>>,
    alone: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// The services of one trial. Dropped, those that were started are killed.
#[derive(Debug, Default)]
pub(super) struct Services {
    started: Vec<Leased>,
    _alone: Vec<OwnedMutexGuard<()>>,
}

#[derive(Debug)]
struct Leased {
    name: String,
    service: Service,
    can_be_put_back: bool,
}

/// Whose services, and for which trial.
pub(super) struct Lease<'a> {
    pub(super) contract: &'a Contract,
    pub(super) trial: &'a TrialId,
    pub(super) clock: Clock,
    pub(super) filter: &'a Filters,
}

impl Lease<'_> {
    /// Makes every service of the contract ready; those that were started, with how they are reached.
    pub(super) async fn take(
        &self,
        pool: &Pool,
    ) -> Result<(Services, BTreeMap<String, Started>), TrialError> {
        let mut services = Services::default();
        let mut started = BTreeMap::new();
        for (name, upstream) in &self.contract.world.upstreams {
            let failed = |why: String| TrialError {
                code: "upstream_failed".to_owned(),
                message: format!("the service `{name}`: {why}"),
                line: Some(upstream.pos.line),
            };
            if let (None, Some(path), UpstreamKind::Http(url) | UpstreamKind::McpHttp(url)) =
                (&upstream.start, &upstream.reset, &upstream.kind)
            {
                services._alone.push(pool.alone(name).lock_owned().await);
                reset(url, path).await.map_err(failed)?;
                continue;
            }
            let mut service = match self.put_back(pool, name, upstream).await {
                Some(service) => service,
                None => match self.start(name, upstream).await.map_err(failed)? {
                    Some(service) => service,
                    None => continue,
                },
            };
            let reached = match (service.url().map(str::to_owned), service.take_pipes()) {
                (Some(url), _) => Some(Started::At(url)),
                (None, Some((stdin, stdout))) => {
                    Some(Started::On(Pipes { stdin: Box::new(stdin), stdout: Box::new(stdout) }))
                }
                (None, None) => None,
            };
            started.extend(reached.map(|reached| (name.clone(), reached)));
            let can_be_put_back = upstream.reset.is_some() && service.url().is_some();
            services.started.push(Leased { name: name.clone(), service, can_be_put_back });
        }
        Ok((services, started))
    }

    async fn start(&self, name: &str, upstream: &Upstream) -> Result<Option<Service>, String> {
        let launch = ServiceLaunch {
            name,
            upstream,
            contract: self.contract,
            trial: self.trial,
            clock: self.clock,
            filter: self.filter,
        };
        launch.start().await.map_err(|error| error.to_string())
    }

    /// One that waits, put back. One that cannot be is ended, and another is tried.
    async fn put_back(&self, pool: &Pool, name: &str, upstream: &Upstream) -> Option<Service> {
        let path = upstream.reset.as_ref()?;
        loop {
            let mut service = pool.next(name)?;
            if service.ended().is_none() && service.reset(path).await.is_ok() {
                return Some(service);
            }
            service.stop().await;
        }
    }
}

impl Pool {
    fn next(&self, name: &str) -> Option<Service> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.get_mut(name)?.pop()
    }

    fn keep(&self, name: String, service: Service) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.entry(name).or_default().push(service);
    }

    fn alone(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(alone.entry(name.to_owned()).or_default())
    }

    /// Ends what waits.
    pub(super) async fn end(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for service in idle.into_values().flatten() {
            service.stop().await;
        }
    }
}

impl Services {
    /// Ends what was started, or keeps it for the next trial. An error: one of them was gone before.
    pub(super) async fn give_back(self, pool: &Pool, journal: &Journal) -> Result<(), TrialError> {
        let mut gone = Ok(());
        for Leased { name, mut service, can_be_put_back } in self.started {
            if let Some(exit) = service.ended() {
                gone = Err(TrialError {
                    code: "upstream_failed".to_owned(),
                    message: format!("the service `{name}` {exit} while the trial went on"),
                    line: None,
                });
            } else if can_be_put_back {
                pool.keep(name, service);
                continue;
            }
            let stopped = service.stop().await;
            outputs(journal, &name, &stopped.output);
            if !stopped.gone() {
                let detail = format!("the service `{name}` could not be ended");
                // A record too full for this says so itself.
                let _ = journal.append(&FindingRow {
                    code: "service_left_running".to_owned(),
                    worker: None,
                    detail,
                });
            }
        }
        gone
    }
}

/// The tails of a service's output. Best effort, like the app's.
fn outputs(journal: &Journal, name: &str, output: &[Output]) {
    for one in output.iter().filter(|one| !one.text.trim().is_empty()) {
        let stream = format!("{name} {}", one.stream);
        let _ = journal.append(&OutputRow { stream, text: one.text.clone(), cut: one.cut });
    }
}
