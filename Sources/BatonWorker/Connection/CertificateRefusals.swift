import BatonBase
import BatonModel

/// How often in a row the coordinators of a fleet have refused a host because of its certificate, and how long the
/// worker waits therefore. Only a person can change that, by inviting the host again, so the worker asks seldom: each
/// attempt costs the coordinator a TLS handshake, and a host that has a new certificate does not wait.
struct CertificateRefusals: Hashable, Sendable {
  /// The certificate (PEM) that was refused last.
  private var certificate = ""
  /// How often it was refused since it was accepted last.
  private var count = 0
  private var last: Instant?

  /// The wait after each address has refused the host once. It doubles with each further refusal.
  static let shortest = Duration.seconds(10)
  /// The longest wait. After a mistake of the operator was mended, for example an older copy of the store, the worker
  /// is back within this time.
  static let longest = Duration.seconds(300)
  /// The worker looks this often whether the host has joined again.
  static let lookInterval = Duration.seconds(2)
  /// Of the refusals without a change only each twelfth is worth a line in the log: about one line in an hour.
  private static let toldEach = 12

  mutating func refused(_ certificate: String, at now: Instant) {
    if certificate != self.certificate { (self.certificate, count) = (certificate, 0) }
    (count, last) = (count + 1, now)
  }

  mutating func accepted() { self = CertificateRefusals() }

  /// How long the worker has to wait from `now` on before it shows the certificate again.
  /// - Parameter addresses: the number of coordinators that the worker knows. Each of them is asked once without a
  ///   wait.
  func pause(for certificate: String, addresses: Int, at now: Instant) -> Duration {
    guard certificate == self.certificate, count >= addresses, let last else { return .zero }
    let doublings = min((count - addresses) / addresses, 10)
    return max(.zero, min(Self.shortest * (1 << doublings), Self.longest) - (now - last))
  }

  /// The message with what the worker does about the refusal. The worker logs a message when it changes, so the number
  /// in it changes seldom.
  func told(_ message: String) -> String {
    let told = count / Self.toldEach * Self.toldEach
    return
      "\(message). The attempts are up to 5 minutes apart, and the worker goes on at once after 'baton-worker join'"
      + (told == 0 ? "" : " (refused \(told) times by now)")
  }
}
