import Testing

@testable import BatonPostgres

@Suite(.enabled(if: PostgresLibrary.isInstalled, "libpq is not installed"))
struct AddressTests {
  @Test(arguments: [
    ("postgres://anna:s3cret@db.example/baton", "postgresql://anna@db.example/baton"),
    (
      "postgresql://db.example:5433/baton?sslmode=verify-full&password=s3cret",
      "postgresql://db.example:5433/baton?sslmode=verify-full"
    ),
    (
      "postgresql://anna:s3cret@a:1,b:2/baton?target_session_attrs=read-write",
      "postgresql://anna@a:1,b:2/baton?target_session_attrs=read-write"
    ),
    ("postgresql://anna:s3cret@a,b:7/baton", "postgresql://anna@a,b:7/baton"),
    ("postgresql://anna:s3cret@[::1]:5432/baton", "postgresql://anna@[::1]:5432/baton"),
    (
      "postgresql://anna:s3cret@/baton?host=/run/postgresql&port=7",
      "postgresql://anna@/baton?host=/run/postgresql&port=7"
    ),
    ("host=db.example user=anna password='s3cret' dbname=baton", "postgresql://anna@db.example/baton"),
    ("postgresql://anna:s3cr%40%2Fet@db.example/baton", "postgresql://anna@db.example/baton"),
    (
      "postgresql://db.example/baton?sslkey=s3cret&sslpassword=s3cret&options=-cs3cret", "postgresql://db.example/baton"
    ),
    ("postgresql://", "postgresql://"),
  ])
  func `an address is shown without what may be secret`(text: String, shown: String) throws {
    let address = try PostgresAddress(text)
    #expect(address.redacted == shown)
    for text in ["\(address)", String(reflecting: address), "\([address])", "\(Optional(address) as Any)"] {
      #expect(!text.contains("s3cr"), "\(text)")
    }
    var dumped = ""
    dump(address, to: &dumped)
    #expect(!dumped.contains("s3cr"), "\(dumped)")
  }

  @Test(arguments: [
    "", "s3cret", "mysql://anna:s3cret@db/baton", "postgresql://anna:s3cret@[::1/baton",
    "postgresql://anna:s3cr%zzet@db/b",
    "postgresql://anna:s3cr%00et@db/b", "postgresql://anna:s3cret@db/baton?s3cret",
    "postgresql://anna:s3cret@db?s3cret=1",
    "postgresql://anna:s3cret@db/baton?a=s3cret=b", "host=db s3cret", "host=db s3cret=1", "host=db password='s3cret",
    // The password is `x@s3cret`, `x/s3cret` and `s3cret/x`.
    "postgresql://anna:x@s3cret@db/baton", "postgresql://anna:x/s3cret@db/baton", "postgresql://anna:s3cret/x@db/baton",
    "postgresql://db:s3cret/baton", "postgresql://db/baton\0s3cret", "postgresql://[]/s3cret",
    "host='db password=s3cret'", "dbname=postgresql://anna:s3cret@db/baton",
  ])
  func `an address that is not valid is refused, and not repeated`(text: String) throws {
    let error = try postgresError(.invalidAddress) { _ = try PostgresAddress(text) }
    #expect(!error.message.contains("s3cr"), "\(error)")
    #expect(!error.message.contains("cannot read it"), "\(error)")
  }

  @Test func `an address says whether it contains a password`() throws {
    #expect(try PostgresAddress("postgresql://anna:s3cret@db/baton").hasPassword)
    #expect(try PostgresAddress("host=db password=s3cret").hasPassword)
    #expect(try !PostgresAddress("postgresql://anna@db/baton").hasPassword)
  }

  @Test func `hosts and ports are tried in pairs`() throws {
    #expect(
      try PostgresAddress("postgresql://a:1,b:2/baton").endpoints == [
        .init(host: "a", port: "1"), .init(host: "b", port: "2"),
      ])
    #expect(
      try PostgresAddress("postgresql://a,b:2/baton").endpoints == [
        .init(host: "a", port: ""), .init(host: "b", port: "2"),
      ])
    #expect(
      try PostgresAddress("host=a,b port=7").endpoints == [.init(host: "a", port: "7"), .init(host: "b", port: "7")])
    #expect(try PostgresAddress("hostaddr=10.0.0.1").endpoints == [.init(hostAddress: "10.0.0.1")])
    #expect(try PostgresAddress("dbname=baton").endpoints == [])
    #expect(try PostgresAddress("host=a,b port=1,2,3").endpoints == [], "libpq says what is wrong")
  }

  @Test func `a URI is recognised without libpq`() {
    #expect(PostgresAddress.isURI("postgres://db/baton"))
    #expect(PostgresAddress.isURI("postgresql:///baton"))
    #expect(!PostgresAddress.isURI("/var/lib/baton"))
    #expect(!PostgresAddress.isURI("postgres:/baton"))
  }
}
