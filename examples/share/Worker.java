// The worker of worker.sql as a program, with JDBC:
//
//     java -cp postgresql.jar Worker.java
//
// It connects by PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD, and runs until
// it is interrupted.  Start as many as you like.

import java.sql.*;
import java.util.*;

public class Worker {
    static final String GROUP = "payments";

    record Job(String airport, int flight, String delay, String receipt) {}

    final Connection connection;

    Worker() throws SQLException {
        Map<String, String> env = System.getenv();
        Properties properties = new Properties();
        properties.setProperty("user", env.getOrDefault("PGUSER", "payer"));
        properties.setProperty("password", env.getOrDefault("PGPASSWORD", ""));
        properties.setProperty("ApplicationName", env.getOrDefault("PGAPPNAME", "worker"));
        connection = DriverManager.getConnection(
            String.format("jdbc:postgresql://%s:%s/%s", env.getOrDefault("PGHOST", "localhost"),
                env.getOrDefault("PGPORT", "5432"), env.getOrDefault("PGDATABASE", "postgres")),
            properties);
        connection.setAutoCommit(false);
    }

    String acknowledge(String receipt, String answer, String error) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT minikafka.acknowledge(?, ?, ?, ?)")) {
            statement.setString(1, GROUP);
            statement.setString(2, receipt);
            statement.setString(3, answer);
            statement.setString(4, error);
            ResultSet rows = statement.executeQuery();
            rows.next();
            return rows.getString(1);
        }
    }

    // The work: may fail.
    void pay(Job job) throws SQLException {
        int delay = Integer.parseInt(job.delay());
        try (PreparedStatement statement = connection.prepareStatement(
                "INSERT INTO payment (flight, airport, amount) VALUES (?, ?, ?)")) {
            statement.setInt(1, job.flight());
            statement.setString(2, job.airport());
            statement.setInt(3, 50 * (delay / 60));
            statement.executeUpdate();
        }
    }

    void doJob(Job job) throws SQLException {
        Savepoint savepoint = connection.setSavepoint();
        try {
            // Released: an earlier job of this airport has failed, so this one comes
            // again after it.
            if (!acknowledge(job.receipt(), "accept", null).equals("released"))
                pay(job);
        } catch (SQLException | RuntimeException error) {
            // The work is undone, and so is the answer.  The job comes again after a
            // while, or has failed too often.  If the connection is lost, this fails.
            connection.rollback(savepoint);
            acknowledge(job.receipt(), "fail", error.getMessage());
        }
        connection.releaseSavepoint(savepoint);
    }

    // Acquires, works and acknowledges in one transaction.
    void doBatch() throws SQLException {
        List<Job> jobs = new ArrayList<>();
        try (PreparedStatement acquire = connection.prepareStatement(
                "SELECT key, (value->>'flight')::int, value->>'delay', receipt"
                + " FROM minikafka.acquire_json(?, 10, max_wait => '1s')")) {
            acquire.setString(1, GROUP);
            ResultSet rows = acquire.executeQuery();
            while (rows.next())
                jobs.add(new Job(rows.getString(1), rows.getInt(2), rows.getString(3), rows.getString(4)));
        }
        for (Job job : jobs)
            doJob(job);
        connection.commit();
    }

    // An error here ends the program, and with it the transaction, whose jobs are
    // free then.  A supervisor starts it again.
    public static void main(String[] arguments) throws SQLException {
        Worker worker = new Worker();
        while (true)
            worker.doBatch();
    }
}
