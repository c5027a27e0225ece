internal import CBatonPostgres

/// The address of a PostgreSQL database: a URI (`postgresql://user@host:5432/database?sslmode=verify-full`, also with
/// the scheme `postgres`), or libpq's `key=value` form (`host=/run/postgresql dbname=baton`). What it leaves out comes
/// from libpq's environment variables (PGHOST, PGPASSFILE …) and defaults.
///
/// The address may contain a password. `description`, `debugDescription` and the mirror show it without the password
/// and without every parameter that is not known to be harmless, so that it can be logged.
package struct PostgresAddress: Sendable, Hashable {
  /// What libpq is given. It may contain a password.
  let text: String
  /// The servers that libpq would try in turn, as values for `host`, `hostaddr` and `port`; empty if the address names
  /// none, or if it is for libpq to say what is wrong with its lists.
  let endpoints: [Endpoint]
  /// The address without its password, as a URI.
  package let redacted: String

  /// One of several servers.
  struct Endpoint: Sendable, Hashable {
    var host: String?
    var hostAddress: String?
    var port: String?
  }

  /// Reads an address. Loads libpq, whose reading counts.
  ///
  /// Throws `.libraryMissing`, or `.invalidAddress` with a message that contains no part of the address, because each
  /// part may be a piece of a password that was not written as a URI demands.
  package init(_ text: String) throws(PostgresError) {
    self.text = text
    let parameters = try Self.parameters(of: text)
    if let problem = Self.problem(with: parameters, isURI: Self.isURI(text)) {
      throw PostgresError(.invalidAddress, problem)
    }
    endpoints = Self.endpoints(of: parameters)
    redacted = Self.redacted(parameters)
  }

  /// Whether the text begins like a URI of PostgreSQL. It is not read further, and libpq is not needed.
  package static func isURI(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Whether the address itself contains a password, which other users can read if it is an argument of a program.
  package var hasPassword: Bool { (try? Self.parameters(of: text)["password"]) != nil }

  /// The address as it was given, with which the same database is found again; `redacted` if it contains a secret.
  package var withoutSecrets: String {
    let parameters = (try? Self.parameters(of: text)) ?? ["password": ""]
    return parameters["password"] == nil && parameters["sslpassword"] == nil ? text : redacted
  }
}

extension PostgresAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { redacted }
  package var debugDescription: String { redacted }
  package var customMirror: Mirror { Mirror(self, children: ["redacted": redacted]) }
}

// MARK: Reading

extension PostgresAddress {
  /// The parameters that the text sets, by libpq's keywords.
  private static func parameters(of text: String) throws(PostgresError) -> [String: String] {
    let library = try PostgresLibrary.load()
    if text.isEmpty { throw PostgresError(.invalidAddress, "the address of PostgreSQL is empty") }
    // A C string would end at the null character.
    guard !text.utf8.contains(0) else {
      throw PostgresError(.invalidAddress, "the address of PostgreSQL contains a null character")
    }
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = library.call.PQconninfoParse(text, &problem) else {
      defer { library.call.PQfreemem(problem) }
      throw PostgresError(.invalidAddress, sentence(for: problem.map { String(cString: $0) } ?? ""))
    }
    defer { library.call.PQconninfoFree(options) }
    return read(options)
  }

  private static func read(_ options: UnsafeMutablePointer<baton_pq_option>) -> [String: String] {
    var parameters: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    return parameters
  }

  /// libpq's messages quote the address, so none of them is passed on: each row is a part of a message, and what is
  /// said instead.
  private static let sentences = [
    ("missing \"=\"", "it is neither a URI that begins with postgresql:// nor a list of key=value"),
    ("missing key/value separator", "a parameter after the ? has no value"),
    ("extra key/value separator", "a parameter after the ? has two equals signs"),
    ("invalid connection option", "it has a parameter that libpq does not know"),
    ("invalid URI query parameter", "it has a parameter after the ? that libpq does not know"),
    ("unterminated quoted string", "a quoted value has no end"),
    ("percent-encoded", "a percent sign is not followed by two hexadecimal digits: write %25 for it"),
    ("unexpected character", "a host or a port is followed by a character that cannot stand there"),
    ("IPv6", "an IPv6 address is not written as [address]"),
    ("unexpected spaces", "it contains a space: write %20 for it"),
  ]

  private static func sentence(for message: String) -> String {
    let found = sentences.first { message.contains($0.0) }?.1 ?? "libpq cannot read it"
    return "the address of PostgreSQL is not valid: \(found)"
  }

  /// A password with an unencoded `@` or `/` makes libpq take a part of it for a host, a port or a database, and so
  /// does a quote in the wrong place. Error messages would show that part.
  private static func problem(with parameters: [String: String], isURI: Bool) -> String? {
    let remedy = "In a user name or a password, write %40 for @, %2F for / and %3A for :"
    if let port = parameters["port"], !port.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ",") }) {
      return "the address of PostgreSQL has a port that is not a number. \(remedy)"
    }
    let names = ["host", "hostaddr", "dbname"].compactMap { parameters[$0] }
    if isURI, names.contains(where: { $0.contains("@") }) {
      return "the address of PostgreSQL has a host or a database with @. \(remedy)"
    }
    if names.contains(where: { $0.contains("password=") || $0.contains("://") }) {
      return "the address of PostgreSQL has another address, or a password, within a host or a database"
    }
    return nil
  }

  /// Splits the lists of hosts and ports as libpq does: one port counts for all hosts.
  private static func endpoints(of parameters: [String: String]) -> [Endpoint] {
    let hosts = parameters["host"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    let addresses =
      parameters["hostaddr"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    let ports = parameters["port"]?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    let count = max(hosts.count, addresses.count)
    guard [0, count].contains(hosts.count), [0, count].contains(addresses.count), [0, 1, count].contains(ports.count)
    else { return [] }
    return (0..<count).map { index in
      Endpoint(
        host: hosts.isEmpty ? nil : hosts[index], hostAddress: addresses.isEmpty ? nil : addresses[index],
        port: ports.count == 1 ? ports[0] : ports.isEmpty ? nil : ports[index])
    }
  }
}

// MARK: Showing

extension PostgresAddress {
  /// The parameters that are shown after the `?`. A new parameter of libpq, which may be a secret, is left out.
  private static let shown = [
    "hostaddr", "target_session_attrs", "load_balance_hosts", "sslmode", "sslrootcert", "service", "application_name",
  ]

  private static func redacted(_ parameters: [String: String]) -> String {
    let hosts = (parameters["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
    let ports = (parameters["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
    let isSocket = hosts.contains { $0.hasPrefix("/") || $0.hasPrefix("@") }
    var query = shown.compactMap { key in parameters[key].map { "\(key)=\($0)" } }
    if isSocket {
      query = ["host", "port"].compactMap { key in parameters[key].map { "\(key)=\($0)" } } + query
    }
    let authority = isSocket ? "" : pairs(hosts, ports)
    return "postgresql://" + (parameters["user"].map { "\($0)@" } ?? "") + authority
      + (parameters["dbname"].map { "/\($0)" } ?? "") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
  }

  private static func pairs(_ hosts: [Substring], _ ports: [Substring]) -> String {
    hosts.enumerated().map { index, host in
      let port = ports.count == hosts.count ? ports[index] : ports.first ?? ""
      let name = host.contains(":") ? "[\(host)]" : "\(host)"
      return port.isEmpty ? name : "\(name):\(port)"
    }.joined(separator: ",")
  }
}
