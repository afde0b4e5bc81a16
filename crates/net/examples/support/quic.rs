//! Settings and a certificate for QUIC.

use std::net::SocketAddr;
use std::sync::Arc;

use quinn_proto::{ClientConfig, ServerConfig};

#[path = "path.rs"]
mod path;
pub(crate) use path::path;

/// Settings of a QUIC client, and of a server whose certificate it trusts.
pub(crate) fn quic() -> (ClientConfig, ServerConfig) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let (certificate, mut roots) = (certified.cert.der().clone(), rustls::RootCertStore::empty());
    roots.add(certificate.clone()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    (client, ServerConfig::with_single_cert(vec![certificate], key).unwrap())
}

/// An address, for stacks that need one.
pub(crate) fn server() -> SocketAddr {
    ([10, 0, 0, 2], 443).into()
}
