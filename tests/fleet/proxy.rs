//! What stands between one end and NATS: a connection that can be slow, stand still, or be cut.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How a connection is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    Open,
    /// What comes waits this long.
    Slow(Duration),
    /// Nothing goes through, and nothing is closed.
    Still,
    /// Closed, and no new one.
    Cut,
}

pub struct Proxy {
    pub address: SocketAddr,
    way: watch::Sender<Way>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let (way, watched) = watch::channel(Way::Open);
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let watched = watched.clone();
                if *watched.borrow() == Way::Cut {
                    continue;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::spawn(carry(near_in, far_out, watched.clone()));
                tokio::spawn(carry(far_in, near_out, watched));
            }
        });
        Proxy { address, way, accepting }
    }

    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    pub fn is(&self, way: Way) {
        self.way.send_replace(way);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.way.send_replace(Way::Cut);
    }
}

async fn carry(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = tokio::select! {
            read = from.read(&mut bytes) => read.unwrap_or(0),
            cut = way.wait_for(|way| *way == Way::Cut) => { drop(cut); 0 }
        };
        if read == 0 {
            return;
        }
        let now = *way.borrow();
        if let Way::Slow(delay) = now {
            tokio::time::sleep(delay).await;
        }
        let moves = way.wait_for(|way| *way != Way::Still).await.map_or(Way::Cut, |way| *way);
        if moves == Way::Cut || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
