/// Why a host's certificate proves nothing to this coordinator.
enum CertificateDoubt: Hashable, Sendable {
  /// An operator has revoked the host.
  case revoked
  /// It has ended, at most `HostCertificate.rejoinTime` ago.
  case ended
  /// It ended so long ago that it cannot be replaced any more.
  case endedLongAgo
  /// The fleet's authority has signed it, and the store does not have it.
  case unknown
  /// The fleet's authority has not signed it, or the caller has not the key.
  case foreign

  /// The reason and the remedy, as the host's owner reads them.
  var reason: String {
    switch self {
    case .revoked:
      "this host was revoked; if it may come back, let it join with a new invitation (baton host invite NAME)"
    case .ended:
      "this host's certificate has ended; if the worker gets no other one by itself, join with a new invitation (baton "
        + "host invite NAME)"
    case .endedLongAgo:
      "this host's certificate ended more than 30 days ago; join with a new invitation (baton host invite NAME)"
    case .unknown:
      "the coordinator's store does not know this host's certificate, although the fleet's authority has signed it: the "
        + "store may be an older copy, from before the host joined or renewed the certificate; join with a new "
        + "invitation (baton host invite NAME)"
    case .foreign:
      "this certificate does not prove the name of a host of this fleet: it is another fleet's, or of a root that was "
        + "replaced; join with a new invitation (baton host invite NAME)"
    }
  }
}
