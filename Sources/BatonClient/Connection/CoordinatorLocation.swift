internal import BatonBase
internal import BatonIdentity
internal import BatonWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Where a coordinator is, and how a client gets in.
///
/// ```swift
/// let own = try CoordinatorLocation.ofThisUser()
/// let login = try CoordinatorLocation.login("production")
/// let fleet = try CoordinatorLocation.fleet(address: "base:7422", token: token, roots: roots)
/// ```
///
/// The sample is from `Examples/Client/ImportClient.swift`.
public struct CoordinatorLocation: Hashable, Sendable {
  enum Access: Hashable, Sendable {
    /// The Unix sockets of this user's coordinators.
    case own(tokenFile: String?, RuntimeFolders)
    case login(FleetLogin)
  }

  /// At least one.
  let addresses: [HostPort]
  let access: Access

  init(_ addresses: [HostPort], _ access: Access) { (self.addresses, self.access) = (addresses, access) }

  /// The address that `baton coordinator` and `baton up` have if nothing else is said: `127.0.0.1:7420`.
  public static let usualAddress = "127.0.0.1:7420"

  /// A coordinator of this process's user on this machine, through its Unix socket.
  /// - Parameters:
  ///   - address: where it listens for workers, `HOST:PORT` on loopback. Of several coordinators that share a store,
  ///     all addresses, separated by commas, at most 16: the first one that answers is asked.
  ///   - tokenFile: a file with its token; `nil` takes the one that the coordinator has left for its user.
  ///   - environment: the variables that say in which folders it leaves its socket (`XDG_RUNTIME_DIR`); `nil` takes
  ///     those of this process.
  /// - Throws: `JobClientError` with the code `.invalid` if an address is wrong, or is not on this machine.
  public static func ofThisUser(
    address: String = usualAddress, tokenFile: String? = nil,
    environment: [String: String]? = nil
  ) throws -> CoordinatorLocation {
    let (addresses, environment) = (try parsed(address), environment ?? ProcessInfo.processInfo.environment)
    if let refusal = addresses.lazy.compactMap(\.refusal).first { throw JobClientError(.invalid, refusal) }
    return CoordinatorLocation(
      addresses, .own(tokenFile: tokenFile, RuntimeFolders(environment: environment)))
  }

  /// The fleet of a login that `baton login` made.
  /// - Parameters:
  ///   - name: the name of the login.
  ///   - environment: the variables that say where logins are kept (`XDG_CONFIG_HOME`, `HOME`); `nil` takes those of
  ///     this process.
  /// - Throws: `JobClientError` with the code `.notPermitted` if there is no such login, or if it cannot be used.
  public static func login(
    _ name: String = "default", environment: [String: String]? = nil
  ) throws -> CoordinatorLocation {
    let environment = environment ?? ProcessInfo.processInfo.environment
    guard let login = try read(name, environment) else {
      let known = UserFolders.configuration { environment[$0] }.map { FleetLogin.names(in: $0) } ?? []
      throw JobClientError(
        .notPermitted,
        "there is no login for a fleet '\(name)': log in with baton login"
          + (known.isEmpty ? "" : "; there are logins for \(known.joined(separator: ", "))"))
    }
    return try location(of: login)
  }

  /// A coordinator on any machine, for a program that keeps its credential itself.
  /// - Parameters:
  ///   - address: where the coordinator listens for operators (`--operators`), `HOST:PORT`; several as in
  ///     `ofThisUser(address:tokenFile:environment:)`.
  ///   - token: the token that `baton credential create` printed. It is sent when the coordinator has been recognised.
  ///   - roots: the fleet's root certificates (PEM), as `baton fleet roots` prints them: one or two.
  /// - Throws: `JobClientError` with the code `.invalid` if the address, the token or the roots are not well-formed.
  public static func fleet(address: String, token: String, roots: String) throws -> CoordinatorLocation {
    do {
      return try location(
        of: FleetLogin(address: address, roots: roots, token: try CredentialToken(parsing: token)))
    } catch let error as IdentityError {
      throw JobClientError(.invalid, "\(error)")
    }
  }

  /// The coordinator that the command line would ask without options: the login that `BATON_FLEET` names; else the
  /// coordinator of this user at `BATON_COORDINATOR`, with the token in `BATON_TOKEN_FILE` if it is set; else the login
  /// `default` if there is one; else the coordinator of this user at `usualAddress`.
  /// - Parameter environment: the variables; `nil` takes those of this process.
  /// - Throws: `JobClientError` if a variable is wrong, or if the login cannot be used.
  public static func automatic(
    environment: [String: String]? = nil
  ) throws -> CoordinatorLocation {
    let environment = environment ?? ProcessInfo.processInfo.environment
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let fleet = variable("BATON_FLEET") { return try login(fleet, environment: environment) }
    let address = variable("BATON_COORDINATOR")
    if address == nil, let login = try read(FleetLogin.defaultName, environment) { return try location(of: login) }
    return try ofThisUser(
      address: address ?? usualAddress, tokenFile: variable("BATON_TOKEN_FILE"), environment: environment)
  }

  private static func read(_ name: String, _ environment: [String: String]) throws -> FleetLogin? {
    guard FleetLogin.isWellFormed(name: name), let folder = UserFolders.configuration({ environment[$0] }) else {
      return nil
    }
    do { return try FleetLogin.read(name, in: folder) } catch { throw JobClientError(.notPermitted, "\(error)") }
  }

  private static func location(of login: FleetLogin) throws -> CoordinatorLocation {
    CoordinatorLocation(try parsed(login.address), .login(login))
  }

  private static func parsed(_ text: String) throws -> [HostPort] {
    do { return try CoordinatorAddresses(parsing: text).all } catch { throw JobClientError(.invalid, "\(error)") }
  }
}
