import BatonBase
import BatonIdentity
import BatonModel
import Crypto

/// A signed-in browser, as its cookie says.
struct ConsoleSession: Hashable, Sendable {
  /// How calls of this session prove who makes them.
  enum Proof: Hashable, Sendable {
    /// They are calls of the person who started the process of the console.
    case own
    /// They show this credential (`bt1_…`).
    case credential(String)
  }

  /// Chosen at random, so that the session can be ended.
  var id: [UInt8]
  var proof: Proof
  /// When the person signed in.
  var began: Timestamp
  /// When the cookie was made.
  var issued: Timestamp

  /// How long a cookie is valid. It is renewed while it is used.
  static let lifetime = Duration.seconds(12 * 3600)
  /// How long a session lasts, however much it is used.
  static let longest = Duration.seconds(7 * 86_400)
  /// How old a cookie is when it is renewed.
  static let renewal = Duration.seconds(3600)

  init(_ proof: Proof, at now: Timestamp) {
    id = Self.random(16)
    self.proof = proof
    (began, issued) = (now, now)
  }

  fileprivate init(id: [UInt8], proof: Proof, began: Timestamp, issued: Timestamp) {
    (self.id, self.proof, self.began, self.issued) = (id, proof, began, issued)
  }

  func isValid(at now: Timestamp) -> Bool {
    issued <= now && now < issued + Self.lifetime && now < began + Self.longest
  }

  /// The session with a new cookie, if the present one is old enough.
  func renewed(at now: Timestamp) -> ConsoleSession? {
    guard issued + Self.renewal <= now else { return nil }
    var session = self
    session.issued = now
    return session
  }

  /// What calls of this session show to prove who makes them, as in the header `Authorization`.
  var shown: String {
    switch proof {
    case .own: OwnCalls.shown
    case .credential(let token): "Bearer \(token)"
    }
  }

  static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }
}

/// Seals what a browser keeps for the console (AES-GCM): the browser can neither read nor change it. The console itself
/// keeps nothing of a session, so that strangers cannot fill its memory.
struct SessionSeal: Sendable {
  private let key: SymmetricKey
  /// The beginning of the names of the cookies. Browsers send cookies to every port of a host, so the names of two
  /// consoles on a host have to differ.
  let prefix: String

  /// - Parameter secret: the 32 bytes of the key. Sessions end when it changes.
  init(secret: [UInt8]) {
    key = SymmetricKey(data: secret)
    prefix = "baton_" + Hexadecimal.text(Array(SHA256.hash(data: Array("cookie".utf8) + secret).prefix(4)))
  }

  /// - Parameter purpose: what is sealed. It cannot be opened for another purpose.
  func seal(_ bytes: [UInt8], for purpose: String) -> String {
    guard let box = try? AES.GCM.seal(bytes, using: key, authenticating: Array(purpose.utf8)),
      let combined = box.combined
    else { preconditionFailure("AES-GCM seals every text with a nonce of its own choice") }
    return Hexadecimal.text(Array(combined))
  }

  /// What was sealed; `nil` if it was not sealed with this key for this purpose.
  func open(_ text: some StringProtocol, for purpose: String) -> [UInt8]? {
    guard text.utf8.count <= 8192, let bytes = Hexadecimal.bytes(text),
      let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = try? AES.GCM.open(box, using: key, authenticating: Array(purpose.utf8))
    else { return nil }
    return Array(opened)
  }
}

extension SessionSeal {
  private static let purpose = "session"

  func cookie(of session: ConsoleSession) -> String {
    var bytes = session.id
    for time in [session.began, session.issued] {
      withUnsafeBytes(of: time.nanoseconds.bigEndian) { bytes += $0 }
    }
    if case .credential(let token) = session.proof { bytes += Array(token.utf8) }
    return seal(bytes, for: Self.purpose)
  }

  /// The session of a cookie; `nil` if the console has not made the cookie.
  func session(_ cookie: some StringProtocol) -> ConsoleSession? {
    guard let bytes = open(cookie, for: Self.purpose), bytes.count >= 32 else { return nil }
    let token = String(decoding: bytes[32...], as: UTF8.self)
    func time(_ place: Int) -> Timestamp {
      Timestamp(nanoseconds: bytes[place..<place + 8].reduce(0) { $0 << 8 | Int64($1) })
    }
    return ConsoleSession(
      id: Array(bytes.prefix(16)), proof: token.isEmpty ? .own : .credential(token), began: time(16), issued: time(24))
  }
}
