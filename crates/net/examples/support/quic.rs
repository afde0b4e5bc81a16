//! A QUIC client and its server: settings and a certificate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{ControllerFactory, CubicConfig};
use quinn_proto::{ClientConfig, Endpoint, ServerConfig, TransportConfig};

use super::Quic;

#[path = "path.rs"]
mod path;
pub(crate) use path::*;

/// A congestion control of quinn.
pub(crate) type Control = Arc<dyn ControllerFactory + Send + Sync>;

/// quinn's CUBIC.
pub(crate) fn cubic() -> Control {
    Arc::<CubicConfig>::default()
}

/// A client with this congestion control that uploads `left` bytes, and its server.
pub(crate) fn peers(control: Control, left: usize) -> [Quic; 2] {
    let ((client, settings), start) = (quic(control), Instant::now());
    let mut peers = [None, Some(settings.into())].map(|settings| {
        let endpoint = Endpoint::new(Arc::default(), settings, true, Some([1; 32]));
        Quic { start, endpoint, live: None, left }
    });
    peers[0].live = peers[0].endpoint.connect(start, client, server(), "localhost").ok();
    peers
}

/// Settings of a QUIC client with this congestion control, and of a server whose certificate it trusts.
fn quic(control: Control) -> (ClientConfig, ServerConfig) {
    // Signatures of Ed25519 have one length, so that each run has the same packets.
    let own = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_string()]).unwrap();
    params.serial_number = Some(1.into());
    let certificate = params.self_signed(&own).unwrap().der().clone();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(own.serialize_der().into());
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    client.transport_config(Arc::new(transport));
    (client, ServerConfig::with_single_cert(vec![certificate], key).unwrap())
}

/// An address, for stacks that need one.
pub(crate) fn server() -> SocketAddr {
    ([10, 0, 0, 2], 443).into()
}
